-- The audit trail. A workspace that is deleted leaves its records: they go when they are old enough.

CREATE TABLE audit (
  audit_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  action text COLLATE "C" NOT NULL,
  object_id text COLLATE "C",
  fields json NOT NULL,
  user_id text COLLATE "C",
  token_id text COLLATE "C",
  address text,
  request_id text
);
CREATE INDEX audit_by_time ON audit (workspace_id, created_at, audit_id);
CREATE INDEX audit_by_object ON audit (workspace_id, object_id, created_at, audit_id) WHERE object_id IS NOT NULL;
