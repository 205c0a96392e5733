-- The control plane's tables.
--
-- Instants are whole microseconds since 1970. Text holds JSON only where its content is a user's. Every index that
-- a claim, an acknowledgement or a report would move is partial on the live states, so that settled tasks cost
-- nothing; renewals and heartbeats touch no index at all. Each index ends with the row's number, said or not.

-- Who this store is, and how often it was restored (D27). One row.
create table meta (
    one integer primary key check (one = 1),
    store_id text not null,
    epoch integer not null check (epoch >= 1)
) strict;

-- The store's own sign of life (D19). One row.
create table pulse (
    one integer primary key check (one = 1),
    at integer not null,
    boot_s real not null,
    calm_since integer not null,
    server text not null
) strict;

-- What a task asks of a worker, once for all tasks that ask the same; so the index over open tasks holds three
-- numbers a task, and tasks that ask for what a worker lacks never hide others from it. Null: any, or none.
create table demand (
    number integer primary key,
    queue text not null,
    capability text not null,
    version text,
    requires text
) strict;
create index demand_capability on demand (capability, queue, version, requires);

-- Tasks; the number grows in the order in which they were added. What is written once and wanted seldom (the whole
-- spec) stands in task_spec, so that a change rewrites a narrow row.
create table task (
    number integer primary key,
    id text not null unique,
    demand integer not null references demand (number),
    priority integer not null,
    state text not null check (state in ('blocked', 'open', 'claimed', 'done', 'failed', 'unknown', 'cancelled')),
    revision integer not null check (revision >= 0),
    generation integer not null check (generation >= 0),
    run integer not null check (run >= 1),
    attempts integer not null check (attempts >= 0),
    losses integer not null check (losses >= 0),
    interruptions integer not null check (interruptions >= 0),
    cancel_requested integer not null check (cancel_requested in (0, 1)),
    created_at integer not null,
    updated_at integer not null,
    not_before integer,
    waits_until integer check (waits_until is null or state = 'open'),
    deadline integer,
    started_at integer,
    finished_at integer check ((finished_at is not null) = (state in ('done', 'failed', 'cancelled'))),
    policy text,
    resources text,
    subjects text check (subjects is not null or state <> 'unknown'),
    ending text check (ending is null or state = 'unknown'),
    error text,
    result text,
    check (generation >= 1 or state <> 'claimed')
) strict;
-- Open and due: the order in which they are handed out.
create index task_ready on task (demand, priority desc) where state = 'open' and waits_until is null;
-- Open and not due yet.
create index task_waiting on task (waits_until) where waits_until is not null;
-- A deadline that still asks for a decision.
create index task_overdue on task (deadline)
    where deadline is not null
      and (state in ('blocked', 'open') or state = 'claimed' and cancel_requested = 0);
-- What people look for among many; no step of a task that goes well moves in here.
create index task_special on task (state) where state in ('blocked', 'failed', 'unknown', 'cancelled');

-- What no sequence of steps can do to a task, refused whatever the code decides: leave `done`, enter `blocked`.
create trigger task_step before update of state on task
when new.state <> old.state and (old.state = 'done' or new.state = 'blocked')
begin
    select raise(abort, 'a done task stays done, and no task becomes blocked');
end;

-- How many tasks are in each state, kept with every change, so that nobody counts a million rows.
create table tally (
    state text primary key,
    tasks integer not null check (tasks >= 0)
) strict, without rowid;
insert into tally (state, tasks)
values ('blocked', 0), ('open', 0), ('claimed', 0), ('done', 0), ('failed', 0), ('unknown', 0), ('cancelled', 0);

-- The whole spec as it was submitted, and the digest that tells a repeated submission from another one.
create table task_spec (
    task integer primary key references task (number) on delete cascade,
    content_digest text not null,
    spec text not null
) strict;

create table task_label (
    task integer not null references task (number) on delete cascade,
    key text not null,
    value text not null,
    primary key (task, key)
) strict, without rowid;
create index task_label_value on task_label (key, value, task);

-- Keys outlive their tasks, hence the id and no reference.
create table task_key (
    queue text not null,
    key text not null,
    task_id text not null,
    content_digest text not null,
    primary key (queue, key)
) strict, without rowid;

-- What must be done before a task opens. The other task may be pruned meanwhile, hence its id and no reference.
create table dependency (
    task integer not null references task (number) on delete cascade,
    depends_on text not null,
    primary key (task, depends_on)
) strict, without rowid;
create index dependency_dependents on dependency (depends_on, task);

-- A worker that is not to be offered a task again, for good (null) or until then (D21).
create table exclusion (
    task integer not null references task (number) on delete cascade,
    worker_id text not null,
    until integer,
    primary key (task, worker_id)
) strict, without rowid;

-- Every grant. A lease's end moves with each renewal and is in no index; `alarm_at` is, never after `until`, and is
-- moved only by a look that finds the alarm early. So a renewal costs one row and no index, and a look for ended
-- leases reads those that have ended and no others.
create table claim (
    number integer primary key,
    task integer not null references task (number) on delete cascade,
    generation integer not null check (generation >= 1),
    token_hash text not null,
    agent text not null,
    granted_at integer not null,
    until integer not null,
    ttl_s real not null check (ttl_s > 0),
    alarm_at integer not null,
    rule text check (rule in ('recompute', 'resume', 'query', 'manual')),
    instance_id text,
    session integer,
    pushed integer not null check (pushed in (0, 1)),
    acknowledged integer not null check (acknowledged in (0, 1)),
    request_id text,
    epoch integer not null check (epoch >= 0),
    lost_epoch integer not null check (lost_epoch >= 0),
    ended text check (
        ended in (
            'succeeded', 'failed', 'cancelled', 'unknown', 'handed_back', 'void', 'taken_over', 'decided', 'lost'
        )
    ),
    ended_at integer check ((ended_at is null) = (ended is null)),
    last_sequence integer not null default 0 check (last_sequence >= 0),
    progress_number integer not null default 0 check (progress_number >= 0),
    progress text
) strict;
-- A token is found through its task, which has few grants; an index over a million digests would only cost.
create unique index claim_generation on claim (task, generation);
create unique index claim_held on claim (task) where ended is null;
create index claim_alarm on claim (alarm_at) where ended is null;
create index claim_request on claim (request_id) where request_id is not null and ended is null;

-- Effects and steps, keyed by the logical action: a task's run and a name (D16). The number is the order of first
-- witness.
create table effect (
    number integer primary key,
    task_id text not null,
    run integer not null check (run >= 1),
    name text not null,
    request_id text not null,
    digest text not null,
    state text not null check (state in ('intended', 'applied', 'absent', 'in_doubt', 'abandoned')),
    generation integer not null check (generation >= 0),
    epoch integer not null check (epoch >= 0),
    agent text not null,
    witnessed_at integer not null,
    kind text not null check (kind in ('effect', 'step')),
    params text,
    settled_by text,
    after text check (after = 'absent'),
    result text,
    decided_by text check (decided_by in ('evidence', 'verdict')),
    unique (task_id, run, name)
) strict;

-- The newest checkpoint of each run.
create table checkpoint (
    task_id text not null,
    run integer not null check (run >= 1),
    generation integer not null check (generation >= 1),
    sequence integer not null check (sequence >= 0),
    portable integer not null check (portable in (0, 1)),
    node_id text not null,
    instance_id text not null,
    value text,
    primary key (task_id, run)
) strict;

-- The history, append-only, and what tells a repeated event. The position is the store's (D27). It outlives tasks.
create table fact (
    position integer primary key autoincrement,
    task_id text not null,
    generation integer not null check (generation >= 0),
    kind text not null,
    at integer not null,
    event_id text,
    digest text,
    attempt_epoch integer not null,
    sequence integer not null,
    answer text,
    body text
) strict;
create index fact_task on fact (task_id);
create unique index fact_event on fact (event_id) where event_id is not null;

-- People's decisions, none of them ever changed.
create table verdict (
    number integer primary key,
    task_id text not null,
    run integer not null check (run >= 1),
    subject text not null,
    verdict text not null check (verdict in ('happened', 'did_not_happen', 'still_unknown', 'abandon')),
    given_by text not null,
    given_at integer not null,
    revision integer not null,
    result text,
    note text not null,
    anyway integer not null check (anyway in (0, 1))
) strict;
create index verdict_task on verdict (task_id);

-- Workers, each with the number of its newest session.
create table worker (
    worker_id text primary key,
    session integer not null
) strict, without rowid;

create table session (
    id integer primary key,
    worker_id text not null references worker (worker_id),
    number integer not null check (number >= 0),
    token_hash text not null unique,
    instance_id text not null,
    node_id text not null,
    ttl_s real not null check (ttl_s > 0),
    registered_at integer not null,
    expires_at integer not null,
    last_seen_at integer not null,
    slots integer not null check (slots >= 0),
    room integer not null check (room >= 0),
    incarnation text,
    try_number integer not null,
    stream_epoch integer not null check (stream_epoch >= 0),
    connected integer not null check (connected in (0, 1)),
    ended text check (ended in ('displaced', 'deregistered')),
    displaced_by text,
    queues text not null,
    labels text not null,
    capabilities text not null,
    resources text not null,
    usage text not null,
    unique (worker_id, number)
) strict;

-- A person's mark on a worker (C111); the worker need not be registered.
create table drain_mark (
    worker_id text primary key,
    drained integer not null check (drained in (0, 1)),
    number integer not null check (number >= 0),
    note text not null
) strict, without rowid;

-- The last accepted incarnation of each instance (C117).
create table incarnation (
    instance_id text primary key,
    incarnation text not null
) strict, without rowid;

-- Commands; the token stands here in plain until the command is answered, and no longer (D26).
create table command (
    sequence integer primary key autoincrement,
    command_id text not null unique,
    worker_id text not null,
    instance_id text not null,
    kind text not null check (kind in ('start', 'cancel', 'drain', 'undrain', 'find', 'forget')),
    digest text not null,
    state text not null check (state in ('queued', 'acknowledged', 'rejected', 'void')),
    queued_at integer not null,
    task_id text,
    generation integer,
    token text check (token is null or state = 'queued'),
    offered_at integer,
    reason text,
    body text
) strict;
create index command_queued on command (worker_id, sequence, kind) where state = 'queued';
create index command_task on command (task_id) where state = 'queued' and task_id is not null;

-- Credentials by digest (C118).
create table credential (
    id text primary key,
    name text not null,
    role text not null check (role in ('admin', 'submit', 'worker', 'read')),
    token_hash text not null unique,
    created_at integer not null,
    queues text,
    expires_at integer,
    revoked_at integer
) strict, without rowid;
