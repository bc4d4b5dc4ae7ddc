-- A workspace that is being deleted, step by step: nobody sees it any more, and nothing new is accepted in it.
ALTER TABLE workspaces ADD COLUMN deleted_at TEXT;

CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL)
BEGIN
  SELECT RAISE(ABORT, 'the workspace is being deleted');
END;
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;
