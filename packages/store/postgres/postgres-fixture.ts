/** For tests: fresh stores on one database. Time passes by shifting the stored times. */

import { systemClock } from '@assay/model/clock'
import { Client } from 'pg'
import { NO_CAPS } from '../caps.ts'
import type { Harness } from '../conformance/conformance.ts'
import { copies } from '../conformance/given.ts'
import { openStore } from '../open.ts'
import type { Store } from '../store.ts'

export function open(url: string, caps = NO_CAPS): Promise<Store> {
  return openStore({ url, home: '', clock: systemClock, publicUrl: 'https://assay.example', caps })
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Returns how many rows of jobs ended sessions have read, from the table and its indexes. */
export async function jobsRead(client: Client): Promise<number> {
  await client.query('SELECT pg_stat_clear_snapshot()')
  const { rows } = await client.query<{ read: number }>(
    `SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'jobs'))::int AS read
     FROM pg_stat_user_tables WHERE relname = 'jobs'`,
  )
  return rows[0]!.read
}

/** Deletes every row of every table except the list of migrations. Deleting few rows is faster than truncating. */
const EMPTY = `
  DELETE FROM webhooks; DELETE FROM events; DELETE FROM insights; DELETE FROM jobs; DELETE FROM template_versions;
  DELETE FROM schedules; DELETE FROM audit; DELETE FROM connections; DELETE FROM readers; DELETE FROM collections; DELETE FROM templates; DELETE FROM metrics; DELETE FROM kept_drafts; DELETE FROM tokens; DELETE FROM sign_ins; DELETE FROM users; DELETE FROM workspaces;
  DELETE FROM nodes; DELETE FROM idempotency_keys; DELETE FROM settings; DELETE FROM repositories; DELETE FROM allowances`

/** Returns the statements that move every stored time back, so that the store is as it will be after a while. */
const SHIFTS = `
  SELECT table_name, format('UPDATE %I SET %s', table_name,
    string_agg(format('%1$I = %1$I - $1 * interval ''1 ms''', column_name), ', ')) AS sql
  FROM information_schema.columns
  WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' AND table_name <> 'migrations'
  GROUP BY table_name`
/** The table whose key is an hour. If all rows moved at once, one would meet another that has not moved yet. */
const KEYED = 'attempt_counts'
const FAR_MS = 1e13
const SHIFT_RATES = 'UPDATE webhooks SET rate_at = rate_at - $1::float8'
const SHIFT_SECRETS = `
  UPDATE webhooks SET secrets = (
    SELECT json_agg(json_build_object('sealed', one->'sealed', 'expires_at',
      to_char((one->>'expires_at')::timestamptz AT TIME ZONE 'UTC' - $1 * interval '1 ms',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
    FROM json_array_elements(secrets) AS one)`

/** Keeps the default workspace as the first store made it. */
const KEEP_FIRST = `CREATE TEMP TABLE first AS TABLE workspaces`
const PUT_FIRST = `INSERT INTO workspaces TABLE first`

export interface FreshStores {
  /** Opens a store on the emptied database. Only one is open at a time. */
  fresh(): Promise<Harness>
  close(): Promise<void>
}

/**
 * Opens stores on one migrated database. A test gets the store of the test before it unless that one was closed,
 * because new connections, which have no plans yet, cost more than most tests.
 */
export function freshStores(url: string): FreshStores {
  let client: Client | undefined
  let kept: Store | undefined
  let shifts: { table_name: string; sql: string }[] | undefined

  /** Empties the database. */
  async function begin(): Promise<Client> {
    if (client) {
      await client.query(`${EMPTY}; ${PUT_FIRST}`)
      return client
    }
    client = new Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    await client.query(EMPTY)
    kept = await open(url)
    await client.query(KEEP_FIRST)
    return client
  }

  async function isOpen(store: Store): Promise<boolean> {
    return store.ping().then(
      () => true,
      () => false,
    )
  }

  async function close(): Promise<void> {
    await kept?.close()
    await client?.end().catch(() => undefined)
    kept = undefined
    client = undefined
  }

  async function fresh(): Promise<Harness> {
    const admin = await begin()
    if (!kept || !(await isOpen(kept))) kept = await open(url)
    const { rows: times } = await admin.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    )
    const ahead = times[0]!.now - Date.now()
    let store = kept
    return {
      store,
      now: () => Date.now() + ahead,
      async elapse(ms) {
        // The statements are read only if time passes, because that takes as long as emptying every table.
        shifts ??= (await admin.query<{ table_name: string; sql: string }>(SHIFTS)).rows
        for (const { table_name, sql } of shifts)
          for (const by of table_name === KEYED ? [ms + FAR_MS, -FAR_MS] : [ms]) await admin.query(sql, [by])
        await admin.query(SHIFT_RATES, [ms])
        await admin.query(SHIFT_SECRETS, [ms])
      },
      async copy(...given) {
        await admin.query(copies(...given))
      },
      async reopen(caps) {
        await store.close()
        store = await open(url, caps)
        return store
      },
      async close() {
        if (store !== kept) await store.close()
      },
    }
  }

  return { fresh, close }
}
