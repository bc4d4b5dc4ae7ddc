-- Connections: where sources with a query read. Their secrets are sealed.

CREATE TABLE connections (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  description text,
  options json NOT NULL,
  secrets json NOT NULL,
  limits json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, name)
);
CREATE INDEX connections_by_time ON connections (workspace_id, created_at, name);
