-- Links to the pages of insights: gone with their insight.
CREATE TABLE links (
  link_id text COLLATE "C" PRIMARY KEY,
  link_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  insight_id text COLLATE "C" NOT NULL REFERENCES insights ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  label text,
  expires_at timestamptz(3) NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX links_by_insight ON links (insight_id, created_at, link_id);
CREATE INDEX links_by_expiry ON links (expires_at);
