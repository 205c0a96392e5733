-- name: prune_events
-- Remove the oldest reported events if they are old, or beyond the newest so many.
delete from event
 where position in (
     select position
       from (
           select position, settled_at
             from event
            where state = 'reported'
            order by position
            limit :limit
       )
      where settled_at < tenure_now() - :keep_us
         or position <= (select max(position) from event) - :keep_rows
 );

-- name: prune_attempts
-- Remove the oldest ended attempts likewise; unknown ones only once decided elsewhere.
delete from attempt
 where position in (
     select position
       from (
           select position, ended_at
             from attempt
            where lease_kept = 0
              and (state <> 'unknown' or forgotten = 1)
            order by position
            limit :limit
       )
      where ended_at < tenure_now() - :keep_us
         or position <= (select max(position) from attempt) - :keep_rows
 )
   and not exists (
       select 1
         from event
        where event.attempt_id = attempt.id
          and event.state <> 'reported'
   )
returning task_id;

-- name: prune_effects
-- Remove the ledgers of these tasks where no attempt is left that could need them.
delete from effect
 where task_id in (select value from json_each(:task_ids))
   and not exists (select 1 from attempt where attempt.task_id = effect.task_id);

-- name: prune_inbox
-- Remove the oldest commands if no duplicate of them can still come: their attempt is gone, and time has passed.
delete from inbox
 where position in (
     select position
       from (
           select position, received_at, attempt_id
             from inbox
            order by position
            limit :limit
       ) as oldest
      where received_at < tenure_now() - :duplicates_us
        and not exists (select 1 from attempt where attempt.id = oldest.attempt_id)
 );
