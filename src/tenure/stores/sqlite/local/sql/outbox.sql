-- name: event_replace_checkpoints
-- A newer checkpoint is coming: the one that was not confirmed yet says nothing more.
delete from event
 where state = 'pending'
   and kind = 'checkpoint'
   and attempt_id in (select value from json_each(:attempt_ids));

-- name: event_add
-- Append an event; its id is fixed from here on. C070
insert into event (event_id, attempt_id, kind, final, stands_for, content)
values (:event_id, :attempt_id, :kind, :final, :stands_for, :content);

-- name: event_pending
-- The oldest events that are not confirmed, in the order they were saved. C090
select content
  from event
 where state = 'pending'
 order by position
 limit :limit;

-- name: event_mark_reported
-- The control plane has these durably. C081
update event
   set state = 'reported',
       settled_at = tenure_now()
 where state = 'pending'
   and event_id in (select value from json_each(:ids));

-- name: event_ended_attempts
-- The attempts whose final event is among these.
select attempt_id
  from event
 where final = 1
   and event_id in (select value from json_each(:ids));

-- name: event_quarantine
-- Set an event aside, and say whether it ended an attempt and whether it stood in for another. D8
update event
   set state = 'quarantined',
       settled_at = tenure_now(),
       reason = :reason
 where state = 'pending'
   and event_id = :event_id
returning attempt_id, final, stands_for is not null;

-- name: event_counts
-- How many events there are in each state.
select state, count(*)
  from event
 group by state;
