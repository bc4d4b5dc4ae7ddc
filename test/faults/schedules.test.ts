/** The short form of `npm run proof -- schedules`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  postgresWorld,
  type ScheduleOptions,
  simulate,
  sqliteWorld,
  type World,
} from '../../proofs/schedules.ts'
import { missingPostgres } from '../servers/postgres.ts'

const missing = await missingPostgres()
const seed = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Proves the schedules over days in which the clocks change in Berlin, and over a Monday. */
async function prove(world: World, log: ScheduleOptions['log']): Promise<void> {
  try {
    const options = { from: '2026-03-28T18:00:00Z', days: 1, kills: 0.3, seed, log }
    const report = await simulate(world, options)
    assert.deepEqual(report.violations, [], `seed ${seed}`)
    assert.equal(report.made, report.due)
    assert.ok(report.due > 5)
  } finally {
    await world.close()
  }
}

test('three schedulers that are killed make each due time one job on SQLite', async (t) => {
  await prove(sqliteWorld(), (line) => t.diagnostic(line))
})

test('three nodes that are killed make each due time one job on PostgreSQL', {
  skip: missing ?? false,
}, async (t) => {
  const world = await postgresWorld()
  if (typeof world === 'string') return t.skip(world)
  await prove(world, (line) => t.diagnostic(line))
})
