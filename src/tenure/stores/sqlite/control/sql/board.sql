-- Tasks and claims by id.

-- name: task_next
-- The number of the next task; the transaction's write lock keeps it ours.
select coalesce(max(number), 0) + 1
  from task;

-- name: demand_add
-- Keep what a task asks of a worker, once. D21
insert into demand (queue, capability, version, requires)
select :queue, :capability, :version, :requires
 where not exists (
           select 1
             from demand
            where capability = :capability
              and queue = :queue
              and version is :version
              and requires is :requires
       );

-- name: demand_find
-- The numbers of demands, by their place in the question.
select asked.key, demand.number
  from json_each(:demands) as asked
 cross join demand
    on demand.queue = asked.value ->> 0
   and demand.capability = asked.value ->> 1
   and demand.version is asked.value ->> 2
   and demand.requires is asked.value ->> 3;

-- name: task_add
-- Add a task. C010
insert into task (
           number, id, demand, priority, state, revision, generation, run, attempts, losses, interruptions,
           cancel_requested, created_at, updated_at, not_before, waits_until, deadline, started_at, finished_at,
           policy, resources, subjects, ending, error, result
       )
values (
           :number, :id, :demand, :priority, :state, :revision, :generation, :run, :attempts, :losses,
           :interruptions, :cancel_requested, :created_at, :updated_at, :not_before,
           case when :state = 'open' and :not_before > tenure_now() then :not_before end,
           :deadline, :started_at, :finished_at, :policy, :resources, :subjects, :ending, :error, :result
       );

-- name: spec_add
-- Keep the whole spec beside its task.
insert into task_spec (task, content_digest, spec)
values (:task, :content_digest, :spec);

-- name: label_add
-- Make a task findable by a label.
insert into task_label (task, key, value)
values (:task, :key, :value);

-- name: key_add
-- Remember which task a key names in its queue. B25
insert into task_key (queue, key, task_id, content_digest)
values (:queue, :key, :task_id, :content_digest);

-- name: dependency_add
-- Keep what must be done before a task opens. C016
insert or ignore into dependency (task, depends_on)
values (:task, :depends_on);

-- name: tally_move
-- Count tasks into or out of a state.
update tally
   set tasks = tasks + :change
 where state = :state;

-- name: task_load
-- Tasks with what they ask for and their newest claim. C010
select task.number, task.id, demand.capability, demand.version, demand.queue, demand.requires, task.priority,
       task.state, task.revision, task.generation, task.run, task.attempts, task.losses, task.interruptions,
       task.policy, task.created_at, task.updated_at, task.not_before, task.deadline, task.started_at,
       task.finished_at, task.cancel_requested, task.resources, task.subjects, task.ending, task.result, task.error,
       claim.generation, claim.token_hash, claim.agent, claim.granted_at, claim.until, claim.ttl_s, claim.rule,
       claim.instance_id, claim.session, claim.pushed, claim.acknowledged, claim.request_id, claim.epoch,
       claim.lost_epoch, claim.ended, claim.ended_at
  from json_each(:ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join demand
    on demand.number = task.demand
  left join claim
    on claim.task = task.number
   and claim.generation = (select max(grants.generation) from claim as grants where grants.task = task.number);

-- name: task_save
-- Write a task back, unless somebody else has changed it meanwhile, which locks exclude. C011
update task
   set state = :state,
       revision = :revision,
       generation = :generation,
       run = :run,
       attempts = :attempts,
       losses = :losses,
       interruptions = :interruptions,
       cancel_requested = :cancel_requested,
       updated_at = :updated_at,
       not_before = :not_before,
       waits_until = case when :state = 'open' and :not_before > tenure_now() then :not_before end,
       started_at = :started_at,
       finished_at = :finished_at,
       subjects = :subjects,
       ending = :ending,
       error = :error,
       result = :result
 where number = :number
   and revision = :loaded;

-- name: claim_overtake
-- End the claim that a newer one takes the place of. C013
update claim
   set ended = 'taken_over',
       ended_at = :ended_at
 where task = :task
   and generation = :generation
   and ended is null;

-- name: claim_add
-- Keep a grant. C010
insert into claim (
           task, generation, token_hash, agent, granted_at, until, ttl_s, alarm_at, rule, instance_id, session,
           pushed, acknowledged, request_id, epoch, lost_epoch, ended, ended_at
       )
values (
           :task, :generation, :token_hash, :agent, :granted_at, :until, :ttl_s, :until, :rule, :instance_id,
           :session, :pushed, :acknowledged, :request_id, :epoch, :lost_epoch, :ended, :ended_at
       );

-- name: claim_save
-- Write a claim back, except for its lease, which a renewal in the same transaction may have moved.
update claim
   set session = :session,
       acknowledged = :acknowledged,
       epoch = :epoch,
       lost_epoch = :lost_epoch,
       ended = :ended,
       ended_at = :ended_at
 where task = :task
   and generation = :generation;

-- name: claim_move
-- Write a lease's end back where a decision has moved it. C019
update claim
   set until = :until,
       ttl_s = :ttl_s,
       alarm_at = min(alarm_at, :until)
 where task = :task
   and generation = :generation;

-- name: claim_renew
-- Move leases' ends; only the bearer of the newest generation may, and expiry alone loses nothing. C019 C021 C022
with clock (now) as materialized (select tenure_now()),
     held (number, ttl_s, progress, progress_number) as materialized (
         select claim.number, wish.value ->> 2, wish.value ->> 3, wish.value ->> 4
           from json_each(:renewals) as wish
          cross join task
             on task.id = wish.value ->> 0
          cross join claim
             on claim.task = task.number
            and claim.generation = task.generation
          where claim.token_hash = wish.value ->> 1
            and (task.state = 'claimed' and claim.ended is null or task.state = 'unknown')
     )
update claim
   set until = clock.now + cast(round(held.ttl_s * 1000000) as integer),
       ttl_s = held.ttl_s,
       progress = iif(held.progress_number > claim.progress_number, held.progress, claim.progress),
       progress_number = max(held.progress_number, claim.progress_number)
  from held
 cross join clock
 where claim.number = held.number
returning claim.number,
          (select task.id from task where task.number = claim.task),
          (select task.cancel_requested from task where task.number = claim.task),
          claim.until,
          claim.until < claim.alarm_at;

-- name: claim_alarm_lower
-- Keep the alarm from being later than the lease's end, after a renewal that made the lease shorter.
update claim
   set alarm_at = until
 where number in (select value from json_each(:numbers));

-- name: claim_proofs
-- The grants that presented tokens were minted for, by their place in the question. C011 C118
select asked.key, claim.generation, claim.generation = task.generation
  from json_each(:presented) as asked
 cross join task
    on task.id = asked.value ->> 0
 cross join claim
    on claim.task = task.number
   and claim.token_hash = asked.value ->> 1;

-- name: claim_history
-- Every grant of tasks, oldest first.
select task.id, claim.generation, claim.token_hash, claim.agent, claim.granted_at, claim.until, claim.ttl_s,
       claim.rule, claim.instance_id, claim.session, claim.pushed, claim.acknowledged, claim.request_id, claim.epoch,
       claim.lost_epoch, claim.ended, claim.ended_at
  from json_each(:ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join claim
    on claim.task = task.number
 order by claim.task, claim.generation;

-- name: spec_load
-- The specs of tasks.
select task.id, task_spec.spec
  from json_each(:ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join task_spec
    on task_spec.task = task.number;
