/** Kept days: the statistics of days of metrics. */
import assert from 'node:assert/strict'
import { at, type ConformanceTests, DAY, otherWorkspace, WORKSPACE } from './given.ts'

const key = { workspace_id: WORKSPACE, series_key: 'a'.repeat(64) }
const series = {
  ...key,
  metric: 'revenue',
  recipe: '{}',
  first_day: '2026-01-01',
  looked_since: null,
  most: 10_000,
}
const day = (name: string, statistics: string) => ({ day: name, statistics })
const all = { from: '', until: '9999-12-31' }

export const keptDayTests: ConformanceTests = {
  'keeps days of a series, of each the latest reading, for its workspace alone': async ({ store, now }) => {
    assert.equal(await store.findKeptDays({ ...key, ...all }), null)
    const read_at = at(now())
    const days = [day('2026-01-01', '[1]'), day('2026-01-02', '[2]')]
    assert.equal(await store.keepDays({ ...series, read_at, days }), true)
    const earlier = { ...series, read_at: at(now() - DAY), first_day: null }
    await store.keepDays({ ...earlier, days: [day('2026-01-01', '[0]')] })
    const found = await store.findKeptDays({ ...key, ...all })
    assert.deepEqual(found, { first_day: '2026-01-01', looked_at: earlier.read_at, doubt: null, days })
    const part = await store.findKeptDays({ ...key, from: '2026-01-02', until: '2026-01-03' })
    assert.deepEqual(part!.days, [day('2026-01-02', '[2]')])
    const workspace_id = await otherWorkspace(store)
    assert.equal(await store.findKeptDays({ ...key, ...all, workspace_id }), null)
    await store.keepDays({ ...series, workspace_id, read_at, days })
    await store.deleteWorkspace(workspace_id)
    const metrics = ['costs', 'revenue']
    const bytes = await store.keptBytes(key)
    assert.deepEqual(await store.keptOfMetrics({ workspace_id: WORKSPACE, metrics }), [
      { metric: 'revenue', series: 1, days: 2, bytes, doubt: null },
    ])
    assert.equal(await store.dropKeptDays({ workspace_id: WORKSPACE, metrics }), 1)
    assert.deepEqual(await store.keptOfMetrics({ workspace_id: WORKSPACE, metrics }), [])
    assert.equal(await store.findKeptDays({ ...key, ...all }), null)
    assert.equal(await store.keptBytes(key), 0)
  },
  'drops the days of a metric with the metric': async ({ store, now }) => {
    const metric = { workspace_id: WORKSPACE, metric_id: 'revenue' }
    await store.putMetric({ ...metric, source: 'metric: revenue', user_id: 'ada' })
    const read_at = at(now())
    await store.keepDays({ ...series, read_at, days: [day('2026-01-01', '[1]')] })
    const other = { ...series, series_key: 'b'.repeat(64), metric: 'costs' }
    await store.keepDays({ ...other, read_at, days: [day('2026-01-01', '[1]')] })
    assert.equal(await store.deleteMetric(metric), true)
    assert.equal(await store.findKeptDays({ ...key, ...all }), null)
    const metrics = ['costs', 'revenue']
    const left = await store.keptOfMetrics({ workspace_id: WORKSPACE, metrics })
    assert.deepEqual(
      left.map(({ metric: name }) => name),
      ['costs'],
    )
  },
  'moves the look for marked rows on only from where it was found': async ({ store, now }) => {
    const [first, second, third] = [at(now() - 2 * DAY), at(now() - DAY), at(now())]
    const days = [day('2026-01-01', '[1]')]
    await store.keepDays({ ...series, read_at: second, days })
    // A run that began before also keeps a day, because rows may have been marked since.
    await store.keepDays({ ...series, read_at: first, days: [day('2026-01-02', '[2]')] })
    await store.keepDays({ ...series, read_at: third, looked_since: second, days: [] })
    assert.equal((await store.findKeptDays({ ...key, ...all }))!.looked_at, first)
    await store.keepDays({ ...series, read_at: third, looked_since: first, days: [] })
    assert.equal((await store.findKeptDays({ ...key, ...all }))!.looked_at, third)
  },
  'keeps no day beyond the bytes of the workspace': async ({ store, now }) => {
    const read_at = at(now())
    const days = [day('2026-01-01', 'x'.repeat(9000))]
    assert.equal(await store.keepDays({ ...series, read_at, days }), true)
    assert.equal(
      await store.keepDays({ ...series, read_at, days: [day('2026-01-02', 'x'.repeat(900))] }),
      false,
    )
    assert.deepEqual((await store.findKeptDays({ ...key, ...all }))!.days, days)
    assert.ok((await store.keptBytes(key)) > 9000)
  },
  'gives a day to audit once in a while, and drops one that differs, with a doubt about its series': async ({
    store,
    now,
    elapse,
  }) => {
    const read_at = at(now())
    await store.keepDays({ ...series, read_at, days: [day('2026-01-01', '[1]')] })
    assert.equal(await store.claimDayToAudit({ before: at(now() - DAY) }), null)
    await elapse(2 * DAY)
    const before = at(now() - DAY)
    const claimed = (await store.claimDayToAudit({ before }))!
    assert.deepEqual(
      [claimed.series_key, claimed.metric, claimed.day],
      [key.series_key, 'revenue', '2026-01-01'],
    )
    assert.equal(await store.claimDayToAudit({ before }), null)
    const doubt = { ...key, day: '2026-01-01', doubt: 'It differs.' }
    assert.equal(await store.doubtKeptDay({ ...doubt, read_at: at(now()) }), false)
    assert.equal(await store.doubtKeptDay({ ...doubt, read_at: claimed.read_at }), true)
    const found = await store.findKeptDays({ ...key, ...all })
    assert.deepEqual([found!.doubt, found!.days], ['It differs.', []])
  },
  'drops a series that no run has added to for as long as events are kept': async ({
    store,
    now,
    elapse,
  }) => {
    await store.keepDays({ ...series, read_at: at(now()), days: [day('2026-01-01', '[1]')] })
    await elapse(3 * DAY)
    const keep = { jobs_ms: DAY, drafts_ms: DAY, events_ms: DAY, deliveries_ms: DAY }
    await store.prune({ keep, limit: 10 })
    assert.equal(await store.findKeptDays({ ...key, ...all }), null)
  },
}
