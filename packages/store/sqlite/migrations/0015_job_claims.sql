-- Fewer index entries for what a job writes. Retention finds what has ended by its state; a page of one type walks the
-- pages of all where that type is a good part of them, as those two are, of which each job makes one.
DROP INDEX jobs_finished;
DROP INDEX events_by_type;
CREATE INDEX events_by_type ON events (workspace_id, type, seq) WHERE type <> 'job.queued' AND type <> 'job.started';
