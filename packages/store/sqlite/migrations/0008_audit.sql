-- The audit trail. A workspace that is deleted leaves its records: they go when they are old enough.

CREATE TABLE audit (
  audit_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  action TEXT NOT NULL,
  object_id TEXT,
  fields TEXT NOT NULL,
  user_id TEXT,
  token_id TEXT,
  address TEXT,
  request_id TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_time ON audit (workspace_id, created_at, audit_id);
CREATE INDEX audit_by_object ON audit (workspace_id, object_id, created_at, audit_id) WHERE object_id IS NOT NULL;
