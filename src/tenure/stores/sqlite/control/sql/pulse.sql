-- The store's own sign of life, and who it is.

-- name: clock_read
-- The store's present instant. C007
select tenure_now();

-- name: pulse_read
-- The pulse, if there ever was a server. D19
select at, boot_s, calm_since, server
  from pulse;

-- name: pulse_write
-- Touch the pulse. D19
insert into pulse (one, at, boot_s, calm_since, server)
values (1, :at, :boot_s, :calm_since, :server)
    on conflict (one) do update
   set at = excluded.at,
       boot_s = excluded.boot_s,
       calm_since = excluded.calm_since,
       server = excluded.server;

-- name: meta_create
-- Give a new store its identity; one that has it keeps it. D27
insert or ignore into meta (one, store_id, epoch)
values (1, :store_id, 1);

-- name: meta_read
-- The store's identity and epoch. D27
select store_id, epoch
  from meta;
