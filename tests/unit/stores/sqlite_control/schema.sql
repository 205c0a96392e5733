CREATE INDEX claim_alarm on claim (alarm_at) where ended is null;

CREATE UNIQUE INDEX claim_generation on claim (task, generation);

CREATE UNIQUE INDEX claim_held on claim (task) where ended is null;

CREATE INDEX claim_request on claim (request_id) where request_id is not null and ended is null;

CREATE INDEX command_queued on command (worker_id, sequence, kind) where state = 'queued';

CREATE INDEX command_task on command (task_id) where state = 'queued' and task_id is not null;

CREATE INDEX demand_capability on demand (capability, queue, version, requires);

CREATE INDEX dependency_dependents on dependency (depends_on, task);

CREATE UNIQUE INDEX fact_event on fact (event_id) where event_id is not null;

CREATE INDEX fact_task on fact (task_id);

CREATE INDEX task_label_value on task_label (key, value, task);

CREATE INDEX task_overdue on task (deadline)
    where deadline is not null
      and (state in ('blocked', 'open') or state = 'claimed' and cancel_requested = 0);

CREATE INDEX task_ready on task (demand, priority desc) where state = 'open' and waits_until is null;

CREATE INDEX task_special on task (state) where state in ('blocked', 'failed', 'unknown', 'cancelled');

CREATE INDEX task_waiting on task (waits_until) where waits_until is not null;

CREATE INDEX verdict_task on verdict (task_id);

CREATE TABLE checkpoint (
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

CREATE TABLE claim (
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

CREATE TABLE command (
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

CREATE TABLE credential (
    id text primary key,
    name text not null,
    role text not null check (role in ('admin', 'submit', 'worker', 'read')),
    token_hash text not null unique,
    created_at integer not null,
    queues text,
    expires_at integer,
    revoked_at integer
) strict, without rowid;

CREATE TABLE demand (
    number integer primary key,
    queue text not null,
    capability text not null,
    version text,
    requires text
) strict;

CREATE TABLE dependency (
    task integer not null references task (number) on delete cascade,
    depends_on text not null,
    primary key (task, depends_on)
) strict, without rowid;

CREATE TABLE drain_mark (
    worker_id text primary key,
    drained integer not null check (drained in (0, 1)),
    number integer not null check (number >= 0),
    note text not null
) strict, without rowid;

CREATE TABLE effect (
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

CREATE TABLE exclusion (
    task integer not null references task (number) on delete cascade,
    worker_id text not null,
    until integer,
    primary key (task, worker_id)
) strict, without rowid;

CREATE TABLE fact (
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

CREATE TABLE incarnation (
    instance_id text primary key,
    incarnation text not null
) strict, without rowid;

CREATE TABLE meta (
    one integer primary key check (one = 1),
    store_id text not null,
    epoch integer not null check (epoch >= 1)
) strict;

CREATE TABLE migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at integer not null
) strict;

CREATE TABLE pulse (
    one integer primary key check (one = 1),
    at integer not null,
    boot_s real not null,
    calm_since integer not null,
    server text not null
) strict;

CREATE TABLE session (
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

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE tally (
    state text primary key,
    tasks integer not null check (tasks >= 0)
) strict, without rowid;

CREATE TABLE task (
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

CREATE TABLE task_key (
    queue text not null,
    key text not null,
    task_id text not null,
    content_digest text not null,
    primary key (queue, key)
) strict, without rowid;

CREATE TABLE task_label (
    task integer not null references task (number) on delete cascade,
    key text not null,
    value text not null,
    primary key (task, key)
) strict, without rowid;

CREATE TABLE task_spec (
    task integer primary key references task (number) on delete cascade,
    content_digest text not null,
    spec text not null
) strict;

CREATE TABLE verdict (
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

CREATE TABLE worker (
    worker_id text primary key,
    session integer not null
) strict, without rowid;

CREATE TRIGGER task_step before update of state on task
when new.state <> old.state and (old.state = 'done' or new.state = 'blocked')
begin
    select raise(abort, 'a done task stays done, and no task becomes blocked');
end;

