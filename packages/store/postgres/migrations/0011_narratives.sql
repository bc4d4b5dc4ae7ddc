-- What language models answered, by the SHA-256 of model and question: the same question is asked once.
CREATE TABLE narratives (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hash text COLLATE "C" NOT NULL,
  text text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX narratives_by_age ON narratives (created_at);
