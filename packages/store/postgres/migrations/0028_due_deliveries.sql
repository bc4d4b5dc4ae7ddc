-- What waits for a webhook, in the order in which it is due, out of the index that has it so. It brings its settings: where by
-- old statistics few wait, the planner would read all that do, and sort them.
CREATE FUNCTION due_deliveries(webhook_ids text[], since timestamptz[], most integer[])
RETURNS TABLE (webhook_id text, delivery_id text, due_at timestamptz)
LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT given.id, due.delivery_id, due.due_at
    FROM unnest(webhook_ids, since, most) AS given (id, since, most), LATERAL (
      SELECT deliveries.delivery_id, deliveries.due_at FROM deliveries
      WHERE deliveries.webhook_id = given.id AND status = 'pending' AND owner IS NULL AND deliveries.due_at >= given.since
      ORDER BY deliveries.due_at, deliveries.delivery_id LIMIT given.most) AS due;
END $$;
