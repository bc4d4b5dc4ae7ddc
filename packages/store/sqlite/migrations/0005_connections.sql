-- Connections: where sources with a query read. Their secrets are sealed.

CREATE TABLE connections (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  description TEXT,
  options TEXT NOT NULL,
  secrets TEXT NOT NULL,
  limits TEXT NOT NULL,
  user_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, name)
) STRICT;
CREATE INDEX connections_by_time ON connections (workspace_id, created_at, name);
