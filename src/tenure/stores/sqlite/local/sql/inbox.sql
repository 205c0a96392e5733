-- name: inbox_seen
-- What is remembered of these commands. C064
select command_id, kind, digest, accepted, reason, detail
  from inbox
 where command_id in (select value from json_each(:ids));

-- name: inbox_add
-- Remember a command and how it was answered; in the transaction that adds its attempt. C063
insert into inbox (command_id, kind, digest, accepted, reason, detail, attempt_id, received_at)
values (:command_id, :kind, :digest, :accepted, :reason, :detail, :attempt_id, tenure_now());
