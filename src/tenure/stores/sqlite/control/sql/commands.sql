-- Commands to workers: queued until answered or void.

-- name: command_add
-- Queue a command; the store gives its sequence number. C062
insert into command (
           command_id, worker_id, instance_id, kind, digest, state, queued_at, task_id, generation, token, offered_at,
           reason, body
       )
values (
           :command_id, :worker_id, :instance_id, :kind, :digest, :state, :queued_at, :task_id, :generation, :token,
           :offered_at, :reason, :body
       );

-- name: command_load
-- Commands by id. C064
select command.command_id, command.worker_id, command.instance_id, command.sequence, command.kind, command.digest,
       command.state, command.queued_at, command.task_id, command.generation, command.token, command.body,
       command.offered_at, command.reason
  from json_each(:ids) as wanted
 cross join command
    on command.command_id = wanted.value;

-- name: command_save
-- Write what becomes of a command; once it is answered its token is gone. D26
update command
   set state = :state,
       reason = :reason,
       offered_at = :offered_at,
       token = :token
 where command_id = :command_id;

-- name: command_queued
-- A worker's queued commands beyond a sequence number, in order. C115
select command_id, worker_id, instance_id, sequence, kind, digest, state, queued_at, task_id, generation, token, body,
       offered_at, reason
  from command
 where worker_id = :worker_id
   and state = 'queued'
   and sequence > :after
 order by sequence
 limit :limit;

-- name: command_offered
-- Note that commands were offered now; a mark of its own, never an acknowledgement. D20
update command
   set offered_at = tenure_now()
 where state = 'queued'
   and command_id in (select value from json_each(:ids));

-- name: command_of_tasks
-- The queued commands about tasks, in order. D24
select command.command_id, command.worker_id, command.instance_id, command.sequence, command.kind, command.digest,
       command.state, command.queued_at, command.task_id, command.generation, command.token, command.body,
       command.offered_at, command.reason
  from json_each(:task_ids) as wanted
 cross join command
    on command.task_id = wanted.value
   and command.state = 'queued'
 order by command.sequence;

-- name: command_unanswered
-- How many queued starts each worker has. D21
select worker_id, count()
  from command
 where state = 'queued'
   and kind = 'start'
 group by worker_id;
