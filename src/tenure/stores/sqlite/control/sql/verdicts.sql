-- People's decisions on what is unknown.

-- name: verdict_add
-- Keep a verdict; none is ever changed. C119
insert into verdict (
           task_id, run, subject, verdict, given_by, given_at, revision, result, note, anyway
       )
values (
           :task_id, :run, :subject, :verdict, :given_by, :given_at, :revision, :result, :note, :anyway
       );

-- name: verdict_deciding
-- The last verdict on a subject of a run that decided it. C120
select task_id, run, subject, verdict, given_by, given_at, revision, result, note, anyway
  from verdict
 where task_id = :task_id
   and run = :run
   and subject = :subject
   and verdict <> 'still_unknown'
 order by number desc
 limit 1;

-- name: verdict_of_task
-- All verdicts on a task, in order. C119
select task_id, run, subject, verdict, given_by, given_at, revision, result, note, anyway
  from verdict
 where task_id = :task_id
 order by number;
