-- What language models answered, by the SHA-256 of model and question: the same question is asked once.
CREATE TABLE narratives (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hash TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, hash)
) STRICT;
CREATE INDEX narratives_by_age ON narratives (created_at);
