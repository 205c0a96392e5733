-- name: attempt_add
-- Add a pending attempt; its epoch begins where those of earlier attempts of its task here have ended.
insert into attempt (
    id, command_id, task_id, generation, run, token, losses, resources, received_at, state, epoch, lost_epoch,
    rule, manifest_digest, cancel_requested, progress, progress_number, event_sequence, lease_kept
)
values (
    :id, :command_id, :task_id, :generation, :run, :token, :losses, :resources, :received_at, 'pending',
    coalesce((select max(earlier.epoch) from attempt as earlier where earlier.task_id = :task_id), 0), 0,
    null, '', :cancel_requested, null, 0, 0, 1
);

-- name: work_add
-- Keep what is to be done and what earlier attempts left behind; written once.
insert into work (position, spec, evidence)
select attempt.position, :spec, :evidence
  from attempt
 where attempt.id = :id;

-- name: checkpoint_save
-- Keep where to continue; nothing is written if it is the same.
insert into checkpoint (position, value, portable)
select attempt.position, :value, :portable
  from attempt
 where attempt.id = :id
   and attempt.ended_at is null
on conflict (position) do update
   set value = excluded.value,
       portable = excluded.portable
 where checkpoint.value is not excluded.value
    or checkpoint.portable is not excluded.portable;

-- name: attempt_save
-- Write back what changes; a final state absorbs whatever comes after it. C071
update attempt
   set state = :state,
       epoch = :epoch,
       lost_epoch = :lost_epoch,
       losses = :losses,
       rule = :rule,
       manifest_digest = :manifest_digest,
       cancel_requested = :cancel_requested,
       progress = :progress,
       progress_number = :progress_number,
       event_sequence = :event_sequence,
       lease_kept = :lease_kept,
       ended_at = :ended_at
 where id = :id
   and ended_at is null;

-- name: attempt_end_lease
-- The answer to the final event is saved, or none will come: the lease is renewed no longer. D15
update attempt
   set lease_kept = 0
 where id in (select value from json_each(:ids))
   and ended_at is not null;

-- name: attempt_forget
-- Decided elsewhere: an unknown attempt need not be kept for evidence any longer.
update attempt
   set forgotten = 1
 where id in (select value from json_each(:ids));

-- name: attempt_load
-- Attempts by id, with their work and newest checkpoint.
select attempt.id, task_id, generation, run, token, state, epoch, spec, received_at, losses, rule,
       manifest_digest, evidence, cancel_requested, checkpoint.value, checkpoint.portable, progress,
       progress_number, event_sequence, lease_kept, ended_at, command_id, lost_epoch
  from attempt
  join work on work.position = attempt.position
  left join checkpoint on checkpoint.position = attempt.position
 where attempt.id in (select value from json_each(:ids));

-- name: attempt_leased
-- Attempts whose lease is still renewed, oldest first. D15
select attempt.id, task_id, generation, run, token, state, epoch, spec, received_at, losses, rule,
       manifest_digest, evidence, cancel_requested, checkpoint.value, checkpoint.portable, progress,
       progress_number, event_sequence, lease_kept, ended_at, command_id, lost_epoch
  from attempt
  join work on work.position = attempt.position
  left join checkpoint on checkpoint.position = attempt.position
 where lease_kept = 1
 order by attempt.position;

-- name: attempt_usage
-- What the attempts that are not final take; most take no resource by name. C114
select resources, count(*)
  from attempt
 where lease_kept = 1
   and ended_at is null
 group by resources;
