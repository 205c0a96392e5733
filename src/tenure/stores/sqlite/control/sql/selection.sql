-- Tasks by what is to be decided about them. Answers are ids in their order; the tasks are then loaded.

-- name: known_ids
-- What ids name already. B25
select task.id, task_spec.content_digest, task.state
  from json_each(:ids) as asked
 cross join task
    on task.id = asked.value
 cross join task_spec
    on task_spec.task = task.number;

-- name: known_keys
-- What keys name already, by their place in the question; the task may be gone. B25
select asked.key, task_key.task_id, task_key.content_digest, task.state
  from json_each(:keys) as asked
 cross join task_key
    on task_key.queue = asked.value ->> 0
   and task_key.key = asked.value ->> 1
  left join task
    on task.id = task_key.task_id;

-- name: due_promote
-- Let tasks whose time has come join those that are handed out, the earliest first.
update task
   set waits_until = null
 where number in (
           select number
             from task
            where waits_until <= tenure_now()
            order by waits_until
            limit :limit
       );

-- name: due_find
-- Open and due tasks that fit: of each demand that the asker meets the head, and of these the first. C010 D21
with clock (now) as materialized (select tenure_now()),
     fitting (number) as materialized (
         select demand.number
           from demand
          where (:queues is null or demand.queue in (select value from json_each(:queues)))
            and (
                    :capabilities is null
                    or exists (
                           select 1
                             from json_each(:capabilities) as offer
                            where offer.value ->> 0 = demand.capability
                              and (demand.version is null or demand.version = offer.value ->> 1)
                       )
                )
            and (
                    :labels is null
                    or demand.requires is null
                    or not exists (
                           select 1
                             from json_each(demand.requires) as need
                             left join json_each(:labels) as label
                               on label.key = need.key
                            where label.key is null
                               or need.value not in ('*', label.value)
                       )
                )
     ),
     head (number) as materialized (
         select picked.value
           from fitting
          cross join json_each((
                    select json_group_array(candidate.number)
                      from (
                               select task.number
                                 from task
                                where task.demand = fitting.number
                                  and task.state = 'open'
                                  and task.waits_until is null
                                  and (task.not_before is null or task.not_before <= (select now from clock))
                                  and task.id not in (select value from json_each(:skip))
                                  and (
                                          :resources is null
                                          or task.resources is null
                                          or not exists (
                                                 select 1
                                                   from json_each(task.resources) as need
                                                   left join json_each(:resources) as free
                                                     on free.key = need.key
                                                  where coalesce(free.value, 0) < need.value
                                             )
                                      )
                                  and not exists (
                                          select 1
                                            from exclusion
                                           where exclusion.task = task.number
                                             and exclusion.worker_id = :exclude_worker
                                             and (exclusion.until is null or exclusion.until > (select now from clock))
                                      )
                                order by task.priority desc, task.number
                                limit :limit
                           ) as candidate
                )) as picked
     )
select task.id
  from head
 cross join task
    on task.number = head.number
 order by task.priority desc, task.number
 limit :limit;

-- name: alarm_move
-- Set the alarm of leases that were renewed since it was set; once per lease and ttl, instead of once per renewal.
update claim
   set alarm_at = until
 where ended is null
   and alarm_at <= tenure_now()
   and until > tenure_now();

-- name: lease_ended
-- Claimed tasks whose lease has ended: live while now < until, so ended at it. C020 C042 B05
select task.id
  from claim indexed by claim_alarm
 cross join task
    on task.number = claim.task
 where claim.ended is null
   and claim.alarm_at <= tenure_now()
   and claim.until <= tenure_now()
   and task.state = 'claimed'
   and task.generation = claim.generation
   and (:until is null or (claim.until, task.id) > (:until, :id))
 order by claim.until, task.id
 limit :limit;

-- name: start_unanswered
-- Claimed tasks whose start, once offered, has no answer for the smaller of a time and its ttl. D20
select task.id
  from command indexed by command_queued
 cross join task
    on task.id = command.task_id
 cross join claim
    on claim.task = task.number
   and claim.generation = task.generation
 where command.state = 'queued'
   and command.kind = 'start'
   and command.generation = task.generation
   and task.state = 'claimed'
   and claim.acknowledged = 0
   and claim.ended is null
   and command.offered_at + cast(round(min(:ack_timeout_s, claim.ttl_s) * 1000000) as integer) <= tenure_now()
 order by command.offered_at, command.sequence
 limit :limit;

-- name: dependent_find
-- Blocked tasks that depend on any of these. C016
select distinct task.id
  from json_each(:ids) as settled
 cross join dependency
    on dependency.depends_on = settled.value
 cross join task
    on task.number = dependency.task
 where task.state = 'blocked'
 order by task.number;

-- name: dependency_states
-- The states of what tasks depend on; null where it is gone. C016
select task.id, dependency.depends_on, below.state
  from json_each(:ids) as wanted
 cross join task
    on task.id = wanted.value
 cross join dependency
    on dependency.task = task.number
  left join task as below
    on below.id = dependency.depends_on;

-- name: page_all
-- A page of all tasks, newest first; beyond a task that is gone there is none.
select task.id
  from task
 cross join demand
    on demand.number = task.demand
 where task.number < iif(:before is null, 1 << 62, (select cursor.number from task as cursor where cursor.id = :before))
   and (:state is null or task.state = :state)
   and (:capability is null or demand.capability = :capability)
   and (:queue is null or demand.queue = :queue)
   and (:queues is null or demand.queue in (select value from json_each(:queues)))
 order by task.number desc
 limit :limit;

-- name: page_special
-- A page of tasks in a state that few are in, newest first.
select task.id
  from task indexed by task_special
 cross join demand
    on demand.number = task.demand
 where task.state = :state
   and task.state in ('blocked', 'failed', 'unknown', 'cancelled')
   and task.number < iif(:before is null, 1 << 62, (select cursor.number from task as cursor where cursor.id = :before))
   and (:capability is null or demand.capability = :capability)
   and (:queue is null or demand.queue = :queue)
   and (:queues is null or demand.queue in (select value from json_each(:queues)))
 order by task.number desc
 limit :limit;

-- name: page_claimed
-- A page of claimed tasks, newest first.
select task.id
  from claim indexed by claim_held
 cross join task
    on task.number = claim.task
 cross join demand
    on demand.number = task.demand
 where claim.ended is null
   and task.state = 'claimed'
   and claim.task < iif(:before is null, 1 << 62, (select cursor.number from task as cursor where cursor.id = :before))
   and (:capability is null or demand.capability = :capability)
   and (:queue is null or demand.queue = :queue)
   and (:queues is null or demand.queue in (select value from json_each(:queues)))
 order by claim.task desc
 limit :limit;

-- name: page_labelled
-- A page of tasks with a label, newest first.
select task.id
  from task_label indexed by task_label_value
 cross join task
    on task.number = task_label.task
 cross join demand
    on demand.number = task.demand
 where task_label.key = :label
   and task_label.value = :value
   and task_label.task < iif(:before is null, 1 << 62, (select cursor.number from task as cursor where cursor.id = :before))
   and (:state is null or task.state = :state)
   and (:capability is null or demand.capability = :capability)
   and (:queue is null or demand.queue = :queue)
   and (:queues is null or demand.queue in (select value from json_each(:queues)))
 order by task_label.task desc
 limit :limit;
