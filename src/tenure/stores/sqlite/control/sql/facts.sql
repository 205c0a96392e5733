-- The append-only history, and the ledger of effects, steps and checkpoints.

-- name: fact_add
-- Append a fact; an event id is kept once. C081 C082
insert into fact (
           task_id, generation, kind, at, event_id, digest, attempt_epoch, sequence, answer, body
       )
values (
           :task_id, :generation, :kind, :at, :event_id, :digest, :attempt_epoch, :sequence, :answer, :body
       );

-- name: sequence_raise
-- Remember the highest accepted event sequence of an attempt beside its claim. C082
update claim
   set last_sequence = :sequence
 where task = (select task.number from task where task.id = :task_id)
   and generation = :generation
   and last_sequence < :sequence;

-- name: sequence_load
-- The highest accepted event sequences, by their place in the question. C082
select asked.key, claim.last_sequence
  from json_each(:attempts) as asked
 cross join task
    on task.id = asked.value ->> 0
 cross join claim
    on claim.task = task.number
   and claim.generation = asked.value ->> 1
 where claim.last_sequence > 0;

-- name: fact_seen
-- What event ids were kept as. C081
select fact.position, fact.task_id, fact.generation, fact.kind, fact.at, fact.event_id, fact.digest,
       fact.attempt_epoch, fact.sequence, fact.answer, fact.body
  from json_each(:event_ids) as asked
 cross join fact
    on fact.event_id = asked.value;

-- name: fact_history
-- A task's facts beyond a position, in order.
select position, task_id, generation, kind, at, event_id, digest, attempt_epoch, sequence, answer, body
  from fact
 where task_id = :task_id
   and position > :after
 order by position
 limit :limit;

-- name: fact_ends
-- The newest executions whose ends their own holders have told, in time or too late. D16
select fact.task_id, fact.generation, max(fact.attempt_epoch)
  from json_each(:task_ids) as wanted
 cross join fact
    on fact.task_id = wanted.value
 where fact.event_id is not null
   and fact.kind in (select value from json_each(:kinds))
 group by fact.task_id, fact.generation;

-- name: fact_position
-- The number of the last fact, also if it is gone. D27
select seq
  from sqlite_sequence
 where name = 'fact';

-- name: effect_load
-- The ledgers of tasks' present runs, each in the order of its first witnesses. D16
select effect.task_id, effect.run, effect.name, effect.request_id, effect.digest, effect.state, effect.generation,
       effect.epoch, effect.agent, effect.witnessed_at, effect.kind, effect.params, effect.settled_by, effect.after,
       effect.result, effect.decided_by
  from json_each(:task_ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join effect
    on effect.task_id = task.id
   and effect.run = task.run
 order by effect.number;

-- name: effect_save
-- Add an entry or change it. D16
insert into effect (
           task_id, run, name, request_id, digest, state, generation, epoch, agent, witnessed_at, kind, params,
           settled_by, after, result, decided_by
       )
values (
           :task_id, :run, :name, :request_id, :digest, :state, :generation, :epoch, :agent, :witnessed_at, :kind,
           :params, :settled_by, :after, :result, :decided_by
       )
    on conflict (task_id, run, name) do update
   set request_id = excluded.request_id,
       digest = excluded.digest,
       state = excluded.state,
       generation = excluded.generation,
       epoch = excluded.epoch,
       agent = excluded.agent,
       witnessed_at = excluded.witnessed_at,
       kind = excluded.kind,
       params = excluded.params,
       settled_by = excluded.settled_by,
       after = excluded.after,
       result = excluded.result,
       decided_by = excluded.decided_by;

-- name: checkpoint_load
-- The newest checkpoint of each task's present run. C077
select checkpoint.task_id, checkpoint.value, checkpoint.sequence, checkpoint.portable, checkpoint.node_id,
       checkpoint.instance_id
  from json_each(:task_ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join checkpoint
    on checkpoint.task_id = task.id
   and checkpoint.run = task.run;

-- name: checkpoint_save
-- Keep a checkpoint as the newest of its run, unless a newer generation or a later one of its own is there. C077
insert into checkpoint (task_id, run, generation, sequence, portable, node_id, instance_id, value)
select task.id, task.run, :generation, :sequence, :portable, :node_id, :instance_id, :value
  from task
 where task.id = :task_id
   and task.generation = :generation
    on conflict (task_id, run) do update
   set generation = excluded.generation,
       sequence = excluded.sequence,
       portable = excluded.portable,
       node_id = excluded.node_id,
       instance_id = excluded.instance_id,
       value = excluded.value
 where (excluded.generation, excluded.sequence) >= (checkpoint.generation, checkpoint.sequence);
