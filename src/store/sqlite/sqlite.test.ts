import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { FakeClock } from '../../runtime/clock.ts'
import { NO_CAPS } from '../caps.ts'
import { conformance, type Harness } from '../conformance.ts'
import { openStore } from '../open.ts'

// Notes how SQLite runs each statement that the suite makes it prepare.
const plans = new Map<string, string[]>()
const { prepare } = DatabaseSync.prototype
DatabaseSync.prototype.prepare = function notePlan(sql, options) {
  if (/^\s*(SELECT|UPDATE|DELETE|WITH)/.test(sql)) {
    const steps = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`).all()
    plans.set(
      sql,
      steps.map(({ detail }) => String(detail)),
    )
  }
  return prepare.call(this, sql, options)
}

async function open(): Promise<Harness> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-store-'))
  const clock = new FakeClock()
  const openHome = (caps = NO_CAPS) =>
    openStore({ url: '', home, clock, publicUrl: 'https://assay.example', caps })
  let store = await openHome()
  return {
    store,
    now: () => clock.now(),
    async elapse(ms) {
      clock.advance(ms)
    },
    async reopen(caps) {
      await store.close()
      store = await openHome(caps)
      return store
    },
    async close() {
      await store.close()
      await rm(home, { recursive: true })
    },
  }
}

conformance('SQLite', open)

/** Few rows by nature, or an index read in order up to a limit. */
const MAY_BE_SCANNED =
  /^SCAN (CONSTANT ROW|migrations|nodes|lanes|levels|\(subquery|workspaces USING INDEX|recoveries|template_versions USING COVERING|deliveries USING COVERING INDEX deliveries_due)/

test('no statement of the store reads a table from end to end', () => {
  const scans = [...plans].flatMap(([sql, steps]) =>
    steps
      .filter((step) => step.startsWith('SCAN') && !MAY_BE_SCANNED.test(step))
      .map((step) => `${step}: ${sql}`),
  )
  assert.deepEqual(scans, [])
  assert.ok(plans.size > 80, `${plans.size} statements`)
})

test('lists and claims come sorted out of an index', () => {
  const sorted = [...plans].filter(([, steps]) => steps.some((step) => step.includes('FOR ORDER BY')))
  assert.deepEqual(
    sorted.map(([sql]) => sql),
    ['SELECT * FROM nodes ORDER BY started_at, node_id'],
  )
})
