-- What the janitor, dispatch and the sessions ask of the board besides.

-- name: exclusion_add
-- Do not offer a task to a worker again, for good or until then; for good stays. D21
insert into exclusion (task, worker_id, until)
select task.number, :worker_id, :until
  from task
 where task.id = :task_id
    on conflict (task, worker_id) do update
   set until = iif(exclusion.until is null or excluded.until is null, null, max(exclusion.until, excluded.until));

-- name: overdue_find
-- Tasks whose deadline has passed and still asks for a decision, the longest overdue first.
select id
  from task
 where deadline <= tenure_now()
   and deadline is not null
   and (state in ('blocked', 'open') or state = 'claimed' and cancel_requested = 0)
 order by deadline, number
 limit :limit;

-- name: due_next
-- The earliest time at which a waiting task is due.
select min(waits_until)
  from task
 where waits_until is not null
   and waits_until > tenure_now();

-- name: progress_load
-- The newest progress of tasks' newest claims. C076
select task.id, claim.progress
  from json_each(:ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join claim
    on claim.task = task.number
   and claim.generation = (select max(grants.generation) from claim as grants where grants.task = task.number)
 where claim.progress is not null;

-- name: lease_lower
-- After the clock stepped back, no lease ends later than now + its ttl; live ones and those of unknown tasks. D19
update claim
   set until = min(until, tenure_now() + cast(round(ttl_s * 1000000) as integer)),
       alarm_at = min(alarm_at, until, tenure_now() + cast(round(ttl_s * 1000000) as integer))
 where number in (
           select held.number
             from claim as held indexed by claim_held
            where held.ended is null
            union all
           select kept.number
             from task indexed by task_special
            cross join claim as kept
               on kept.task = task.number
              and kept.generation = task.generation
            where task.state = 'unknown'
              and task.state in ('blocked', 'failed', 'unknown', 'cancelled')
       );

-- name: session_lower
-- After the clock stepped back, no registration ends later than now + its ttl. D19
update session
   set expires_at = min(expires_at, tenure_now() + cast(round(ttl_s * 1000000) as integer))
 where (worker_id, number) in (select worker.worker_id, worker.session from worker);

-- name: granted_for
-- Claimed tasks that an agent's request was granted, in the order of the grants.
select task.id
  from claim indexed by claim_request
 cross join task
    on task.number = claim.task
 where claim.request_id = :request_id
   and claim.agent = :agent
   and claim.ended is null
   and task.state = 'claimed'
   and task.generation = claim.generation
 order by claim.number;

-- name: held_by
-- Claimed tasks that an agent holds, oldest first. C008
select task.id
  from claim indexed by claim_held
 cross join task
    on task.number = claim.task
 where claim.ended is null
   and claim.agent = :agent
   and task.state = 'claimed'
   and task.generation = claim.generation
 order by claim.task;

-- name: tally_read
-- How many tasks are in each state.
select state, tasks
  from tally;
