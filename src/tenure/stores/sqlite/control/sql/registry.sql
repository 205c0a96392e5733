-- Workers, their sessions, drained marks and incarnations.

-- name: session_newest
-- The newest session of some workers. C001 C002
select session.worker_id, session.number, session.token_hash, session.instance_id, session.node_id, session.ttl_s,
       session.registered_at, session.expires_at, session.last_seen_at, session.slots, session.room,
       session.incarnation, session.try_number, session.stream_epoch, session.connected, session.ended,
       session.displaced_by, session.queues, session.labels, session.capabilities, session.resources, session.usage
  from json_each(:worker_ids) as wanted
 cross join worker
    on worker.worker_id = wanted.value
 cross join session
    on session.worker_id = worker.worker_id
   and session.number = worker.session;

-- name: session_all
-- The newest session of every worker, by worker. C009
select session.worker_id, session.number, session.token_hash, session.instance_id, session.node_id, session.ttl_s,
       session.registered_at, session.expires_at, session.last_seen_at, session.slots, session.room,
       session.incarnation, session.try_number, session.stream_epoch, session.connected, session.ended,
       session.displaced_by, session.queues, session.labels, session.capabilities, session.resources, session.usage
  from worker
 cross join session
    on session.worker_id = worker.worker_id
   and session.number = worker.session
 order by worker.worker_id;

-- name: session_of_token
-- The session that a token was minted for, ended or not. D24
select worker_id, number, token_hash, instance_id, node_id, ttl_s, registered_at, expires_at, last_seen_at, slots,
       room, incarnation, try_number, stream_epoch, connected, ended, displaced_by, queues, labels, capabilities,
       resources, usage
  from session
 where token_hash = :token_hash;

-- name: worker_save
-- Keep which session of a worker is the newest. C002
insert into worker (worker_id, session)
values (:worker_id, :session)
    on conflict (worker_id) do update
   set session = max(session, excluded.session);

-- name: session_save
-- Add a session, or write back what changes of one; its token, its owner and its beginning never do. C002 C008
insert into session (
           worker_id, number, token_hash, instance_id, node_id, ttl_s, registered_at, expires_at, last_seen_at, slots,
           room, incarnation, try_number, stream_epoch, connected, ended, displaced_by, queues, labels, capabilities,
           resources, usage
       )
values (
           :worker_id, :number, :token_hash, :instance_id, :node_id, :ttl_s, :registered_at, :expires_at,
           :last_seen_at, :slots, :room, :incarnation, :try_number, :stream_epoch, :connected, :ended, :displaced_by,
           :queues, :labels, :capabilities, :resources, :usage
       )
    on conflict (worker_id, number) do update
   set ttl_s = excluded.ttl_s,
       expires_at = excluded.expires_at,
       last_seen_at = excluded.last_seen_at,
       slots = excluded.slots,
       room = excluded.room,
       incarnation = excluded.incarnation,
       try_number = excluded.try_number,
       stream_epoch = excluded.stream_epoch,
       connected = excluded.connected,
       ended = excluded.ended,
       displaced_by = excluded.displaced_by,
       queues = excluded.queues,
       labels = excluded.labels,
       capabilities = excluded.capabilities,
       resources = excluded.resources,
       usage = excluded.usage;

-- name: session_touch
-- Move the end of a live, newest session; an expired one is not registered and stays so. C004 C005 C006
update session
   set expires_at = tenure_now() + cast(round(:ttl_s * 1000000) as integer),
       last_seen_at = tenure_now(),
       ttl_s = :ttl_s,
       room = :room,
       usage = :usage
 where worker_id = :worker_id
   and number = :number
   and ended is null
   and expires_at > tenure_now()
   and number = (select worker.session from worker where worker.worker_id = :worker_id)
returning expires_at;

-- name: session_disconnect
-- Note that no stream is open, when a server starts. C115
update session
   set connected = 0
 where connected = 1
   and (worker_id, number) in (select worker.worker_id, worker.session from worker);

-- name: mark_load
-- The drained marks of some workers, or of all. C111
select worker_id, drained, number, note
  from drain_mark
 where :worker_ids is null
    or worker_id in (select value from json_each(:worker_ids));

-- name: mark_save
-- Keep a mark, unless a higher one is there. C111
insert into drain_mark (worker_id, drained, number, note)
values (:worker_id, :drained, :number, :note)
    on conflict (worker_id) do update
   set drained = excluded.drained,
       number = excluded.number,
       note = excluded.note
 where excluded.number >= drain_mark.number;

-- name: incarnation_load
-- The last accepted incarnation of an instance. C117
select incarnation
  from incarnation
 where instance_id = :instance_id;

-- name: incarnation_save
-- Keep an incarnation as the last accepted. C117
insert into incarnation (instance_id, incarnation)
values (:instance_id, :incarnation)
    on conflict (instance_id) do update
   set incarnation = excluded.incarnation;
