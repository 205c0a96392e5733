-- name: effect_load
-- The ledger of a run, oldest entry first.
select task_id, run, name, request_id, digest, state, epoch, generation, kind, params, settled_by, go_saved,
       result, kept, error
  from effect
 where task_id = :task_id
   and run = :run
 order by position;

-- name: effect_save
-- Add or change an entry.
insert into effect (
    task_id, run, name, request_id, digest, state, epoch, generation, kind, params, settled_by, go_saved,
    result, kept, error
)
values (
    :task_id, :run, :name, :request_id, :digest, :state, :epoch, :generation, :kind, :params, :settled_by,
    :go_saved, :result, :kept, :error
)
on conflict (task_id, run, name) do update
   set request_id = excluded.request_id,
       digest = excluded.digest,
       state = excluded.state,
       epoch = excluded.epoch,
       generation = excluded.generation,
       kind = excluded.kind,
       params = excluded.params,
       settled_by = excluded.settled_by,
       go_saved = excluded.go_saved,
       result = excluded.result,
       kept = excluded.kept,
       error = excluded.error;
