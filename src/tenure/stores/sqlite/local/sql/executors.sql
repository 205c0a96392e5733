-- name: executor_add
-- Remember an executor process before it receives work. C103
insert or replace into executor (pid, start_time, boot_id, marker)
values (:pid, :start_time, :boot_id, :marker);

-- name: executor_remove
-- Forget an executor process that was shown dead.
delete from executor
 where pid = :pid
   and start_time = :start_time;

-- name: executor_all
-- The executor processes that were not shown dead.
select pid, start_time, boot_id, marker
  from executor
 order by pid, start_time;
