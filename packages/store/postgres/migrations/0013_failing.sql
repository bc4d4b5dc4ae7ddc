-- Why a webhook fails, and when those who ask for it were told so.
ALTER TABLE webhooks ADD COLUMN failing_reason text;
ALTER TABLE webhooks ADD COLUMN warned_at timestamptz(3);
