-- A recovery may be narrowed to some event types: a JSON array; null: all.
ALTER TABLE recoveries ADD COLUMN event_types TEXT;
