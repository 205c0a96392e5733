-- name: instance_read
-- The one row about this instance. C117
select instance_id, confirmed, unconfirmed, tries, drained, drained_number, store_epoch, store_position
  from instance;

-- name: instance_write
-- Keep the row, whatever stood there before.
insert into instance (
    only_row, instance_id, confirmed, unconfirmed, tries, drained, drained_number, store_epoch, store_position
)
values (
    1, :instance_id, :confirmed, :unconfirmed, :tries, :drained, :drained_number, :store_epoch, :store_position
)
on conflict (only_row) do update
   set instance_id = excluded.instance_id,
       confirmed = excluded.confirmed,
       unconfirmed = excluded.unconfirmed,
       tries = excluded.tries,
       drained = excluded.drained,
       drained_number = excluded.drained_number,
       store_epoch = excluded.store_epoch,
       store_position = excluded.store_position;
