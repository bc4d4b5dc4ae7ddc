-- A place at a receiver may be given a run of deliveries, sent one after the other. All but the last of a run are `ahead`:
-- only the last counts as in flight, so that the place is free when the run has ended.
ALTER TABLE deliveries ADD COLUMN ahead boolean NOT NULL DEFAULT false;
