-- A workspace that is being deleted, step by step: nobody sees it any more, and nothing new is accepted in it.
ALTER TABLE workspaces ADD COLUMN deleted_at timestamptz(3);

-- Its rows of lanes are gone, so the next job that is made in it needs a new one: only then is this asked.
CREATE FUNCTION refuse_lane_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL) THEN
    RAISE foreign_key_violation USING MESSAGE = format('the workspace %s is being deleted', NEW.workspace_id);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER lanes_of_deleted BEFORE INSERT ON lanes FOR EACH ROW EXECUTE FUNCTION refuse_lane_of_deleted();
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;
