-- Kinds of webhook beside the plain one: their target is sealed. Skipped runs are told of only where it is asked for.
ALTER TABLE webhooks ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'webhook';
ALTER TABLE webhooks ADD COLUMN target text;
ALTER TABLE webhooks ADD COLUMN tells_skipped boolean NOT NULL DEFAULT false;
ALTER TABLE subscriptions ADD COLUMN skipped boolean NOT NULL DEFAULT false;
