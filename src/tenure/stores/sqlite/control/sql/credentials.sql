-- Credentials of people, clients and workers; only digests are kept.

-- name: credential_add
-- Keep a credential. C118
insert into credential (id, name, role, token_hash, created_at, queues, expires_at, revoked_at)
values (:id, :name, :role, :token_hash, :created_at, :queues, :expires_at, :revoked_at);

-- name: credential_of_token
-- The credential of a digest, also if it is expired or revoked. C118
select id, name, role, token_hash, created_at, queues, expires_at, revoked_at
  from credential
 where token_hash = :token_hash;

-- name: credential_all
-- Every credential, oldest first.
select id, name, role, token_hash, created_at, queues, expires_at, revoked_at
  from credential
 order by created_at, id;

-- name: credential_revoke
-- Revoke a credential now; the first time counts. C118
update credential
   set revoked_at = coalesce(revoked_at, tenure_now())
 where id = :id;
