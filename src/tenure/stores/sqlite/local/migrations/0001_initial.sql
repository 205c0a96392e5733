-- The worker's local store. Instants are microseconds since 1970; what is the user's own is JSON text.

create table instance (
    only_row integer primary key check (only_row = 1),
    instance_id text not null,
    confirmed text,
    unconfirmed text not null,
    tries integer not null,
    drained integer not null check (drained in (0, 1)),
    drained_number integer not null,
    store_epoch integer not null,
    store_position integer not null
) strict;

-- Commands received, and how each was first answered.
create table inbox (
    position integer primary key,
    command_id text not null unique,
    kind text not null check (kind in ('start', 'cancel', 'drain', 'undrain', 'find', 'forget')),
    digest text not null,
    accepted integer not null check (accepted in (0, 1)),
    reason text,
    detail text not null,
    attempt_id text,
    received_at integer not null,
    check ((accepted = 1) = (reason is null))
) strict;

-- What changes about an attempt; its work is written once, and its checkpoint only when there is a newer one.
create table attempt (
    position integer primary key,
    id text not null unique,
    command_id text not null,
    task_id text not null,
    generation integer not null,
    run integer not null,
    token text not null,
    losses integer not null,
    resources text not null,
    received_at integer not null,
    state text not null check (
        state in (
            'pending', 'running', 'succeeded', 'failed', 'cancelled', 'unknown', 'handed_back', 'superseded'
        )
    ),
    epoch integer not null check (epoch >= 0),
    lost_epoch integer not null,
    rule text check (rule in ('recompute', 'resume', 'query', 'manual')),
    manifest_digest text not null,
    cancel_requested integer not null check (cancel_requested in (0, 1)),
    progress text,
    progress_number integer not null,
    event_sequence integer not null,
    lease_kept integer not null check (lease_kept in (0, 1)),
    ended_at integer,
    forgotten integer not null default 0 check (forgotten in (0, 1)),
    unique (task_id, generation),
    check ((state in ('pending', 'running')) = (ended_at is null)),
    check (lease_kept = 1 or ended_at is not null)
) strict;

-- Unfinished attempts keep their lease, so this one index serves both questions.
create index attempt_leased on attempt (position) where lease_kept = 1;

create table work (
    position integer primary key references attempt (position) on delete cascade,
    spec text not null,
    evidence text not null
) strict;

create table checkpoint (
    position integer primary key references attempt (position) on delete cascade,
    value text not null,
    portable integer not null check (portable in (0, 1))
) strict;

create table effect (
    position integer primary key,
    task_id text not null,
    run integer not null,
    name text not null,
    request_id text not null,
    digest text not null,
    kind text not null check (kind in ('effect', 'step')),
    state text not null check (state in ('intended', 'applied', 'absent', 'in_doubt', 'abandoned')),
    generation integer not null,
    epoch integer not null,
    params text not null,
    settled_by text not null,
    go_saved integer not null check (go_saved in (0, 1)),
    result text not null,
    kept integer not null check (kept in (0, 1)),
    error text not null,
    unique (task_id, run, name)
) strict;

-- The outbox; `position` is the order of saving, which is the order of sending.
create table event (
    position integer primary key,
    event_id text not null unique,
    attempt_id text not null,
    kind text not null,
    final integer not null check (final in (0, 1)),
    state text not null default 'pending' check (state in ('pending', 'reported', 'quarantined')),
    settled_at integer,
    reason text,
    stands_for text,
    content text not null,
    check ((state = 'pending') = (settled_at is null)),
    check ((state = 'quarantined') = (reason is not null))
) strict;

create index event_pending on event (position) where state = 'pending';
create index event_reported on event (position) where state = 'reported';
create index event_quarantined on event (position) where state = 'quarantined';
create index event_attempt on event (attempt_id) where state <> 'reported';
create unique index event_unsent_checkpoint on event (attempt_id)
 where state = 'pending' and kind = 'checkpoint';

create table executor (
    pid integer not null,
    start_time text not null,
    boot_id text not null,
    marker text not null,
    primary key (pid, start_time)
) strict;
