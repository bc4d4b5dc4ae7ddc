-- Why a webhook fails, and when those who ask for it were told so.
ALTER TABLE webhooks ADD COLUMN failing_reason TEXT;
ALTER TABLE webhooks ADD COLUMN warned_at TEXT;
