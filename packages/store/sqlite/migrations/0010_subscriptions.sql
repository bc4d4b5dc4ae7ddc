-- Kinds of webhook beside the plain one: their target is sealed. Skipped runs are told of only where it is asked for.
ALTER TABLE webhooks ADD COLUMN kind TEXT NOT NULL DEFAULT 'webhook';
ALTER TABLE webhooks ADD COLUMN target TEXT;
ALTER TABLE webhooks ADD COLUMN tells_skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subscriptions ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
