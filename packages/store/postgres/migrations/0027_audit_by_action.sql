-- The audit trail by action, without the actions that come with the traffic (store/lists.ts): it costs their records nothing.
CREATE INDEX audit_by_action ON audit (workspace_id, action, created_at, audit_id)
  WHERE action <> 'job.create' AND action <> 'job.run' AND action <> 'result.read' AND action <> 'link.open';
