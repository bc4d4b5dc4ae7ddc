/** The list of insights by their cards. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { CardFound } from '@assay/model/insight'
import type { InsightCard } from '@assay/model/insight-card'
import type { NewJob, Store } from '../store.ts'
import {
  at,
  type ConformanceTests,
  DAY,
  execute,
  findings,
  HOUR,
  otherWorkspace,
  queueNew,
  register,
  sorted,
  WORKSPACE,
} from './given.ts'

function card(over: Partial<CardFound> = {}): CardFound {
  return {
    headline: 'Late flights fell.',
    grade: 'likely',
    figure: { label: 'late flights', value: 0.25, unit: null, text: '25%' },
    period: { start: '2001-06-18', label: '18 to 24 June 2001' },
    tags: ['operations'],
    series: 'of ORD',
    search: 'delays late flights fell. ord',
    ...over,
  }
}

async function made(store: Store, found: CardFound | undefined, over: Partial<NewJob> = {}): Promise<string> {
  const insight_id = uuidv7()
  const lease = await execute(store, over)
  const done = { ...lease, insight_id, findings: findings(found ? { card: found } : {}) }
  assert.ok(await store.completeJob(done))
  return insight_id
}

const ids = (items: InsightCard[]): string[] => items.map(({ insight_id }) => insight_id)

export const insightCardTests: ConformanceTests = {
  'lists insights by their cards, newest first, page by page': async ({ store }) => {
    await register(store)
    const all: string[] = []
    for (let nth = 0; nth < 3; nth++) all.unshift(await made(store, card({ series: `s-${nth}` })))
    const first = await store.listInsights({ workspace_id: WORKSPACE, limit: 2 })
    const cursor = first.next_cursor!
    const rest = await store.listInsights({ workspace_id: WORKSPACE, limit: 2, cursor })
    assert.deepEqual(
      [ids(first.items), ids(rest.items), rest.next_cursor],
      [all.slice(0, 2), all.slice(2), null],
    )
    const { assignment_id, created_at, history, ...shown } = first.items[0]!
    assert.deepEqual(shown, {
      insight_id: all[0],
      template_id: 'delays',
      title: 'Delays',
      headline: 'Late flights fell.',
      grade: 'likely',
      figure: { label: 'late flights', value: 0.25, unit: null, text: '25%' },
      period: '18 to 24 June 2001',
      series: 's-2',
      failed_tests: null,
      tags: ['operations'],
      user_id: 'ada',
      schedule_id: null,
      reader_id: null,
    })
    assert.deepEqual(history, [{ insight_id: all[0], created_at, period: '18 to 24 June 2001', value: 0.25 }])
    assert.equal((await store.getJob({ workspace_id: WORKSPACE, assignment_id }))?.insight_id, all[0])
    const insight = await store.getInsight({ workspace_id: WORKSPACE, insight_id: all[0]! })
    assert.ok(insight && !('card' in insight))
  },

  'finds the series whose newest run reads data that fail a test of a metric': async ({ store }) => {
    await register(store)
    const late = { metric: 'revenue', label: 'Revenue', late: true, says: 'The newest row is of May.' }
    const failing = card({ series: 'a', failed_tests: [late] })
    await made(store, failing)
    const newest = await made(store, failing)
    await made(store, card({ series: 'b', failed_tests: [late] }))
    const mended = await made(store, card({ series: 'b' }))
    const found = async (query: object = {}): Promise<InsightCard[]> =>
      (await store.listInsights({ workspace_id: WORKSPACE, limit: 10, tests: 'failed', ...query })).items
    assert.deepEqual(
      (await found()).map(({ insight_id, failed_tests }) => [insight_id, failed_tests]),
      [[newest, [late]]],
    )
    assert.deepEqual(ids(await found({ seen_by: '' })), [newest])
    assert.deepEqual(ids(await found({ q: 'nowhere' })), [])
    await store.deleteJob({
      workspace_id: WORKSPACE,
      assignment_id: (
        await store.listInsights({ workspace_id: WORKSPACE, limit: 10, series: 'b' })
      ).items.find(({ insight_id }) => insight_id === mended)!.assignment_id,
    })
    assert.equal((await found()).length, 2)
  },

  'finds insights by words, tag, grade, template, series and time': async ({ store, now }) => {
    await register(store)
    const one = await made(store, card())
    const two = await made(
      store,
      card({
        grade: 'firm',
        tags: ['oper', '50%_off'],
        series: 'b',
        search: 'sales rose by 50%_off in århus',
      }),
    )
    const plain = await made(store, undefined)
    const found = async (query: object): Promise<string[]> =>
      ids((await store.listInsights({ workspace_id: WORKSPACE, limit: 10, ...query })).items)
    assert.deepEqual(await found({ q: 'FLIGHTS  ord' }), [one])
    assert.deepEqual(await found({ q: 'flights sales' }), [])
    assert.deepEqual(await found({ q: 'ÅRHUS' }), [two])
    assert.deepEqual(await found({ q: '50%_' }), [two])
    assert.deepEqual(await found({ q: '5_%' }), [])
    assert.deepEqual(await found({ q: '\\' }), [])
    assert.deepEqual(await found({ q: ' ' }), [plain, two, one])
    assert.deepEqual(await found({ q: 'delays' }), [plain, one])
    assert.deepEqual(await found({ tag: 'oper' }), [two])
    assert.deepEqual(await found({ tag: '50%_off' }), [two])
    assert.deepEqual(await found({ tag: '%' }), [])
    assert.deepEqual(await found({ grade: 'firm' }), [two])
    assert.deepEqual(await found({ grade: 'firm', q: 'late' }), [])
    assert.deepEqual(await found({ template_id: 'delays' }), [plain, two, one])
    assert.deepEqual(await found({ template_id: 'other' }), [])
    assert.deepEqual(await found({ series: 'b' }), [two])
    assert.deepEqual(await found({ created_after: at(now() + 60_000) }), [])
  },

  'gives the figures of the runs before, one for each period, and none of a later period': async ({
    store,
  }) => {
    await register(store)
    const week = (start: string, value: number) =>
      card({ period: { start, label: start }, figure: { label: 'late', value, unit: null, text: '' } })
    await made(store, week('2001-06-04', 1))
    await made(store, week('2001-06-11', 2))
    await made(store, card({ series: 'of another airport' }))
    await made(store, week('2001-06-18', 9))
    const again = await made(store, week('2001-06-18', 3))
    const late = await made(store, week('2001-06-11', 4))
    const { items } = await store.listInsights({ workspace_id: WORKSPACE, limit: 10, series: 'of ORD' })
    const values = (insight_id: string) =>
      items.find((one) => one.insight_id === insight_id)?.history.map(({ value }) => value)
    assert.deepEqual(values(again), [1, 2, 3])
    assert.deepEqual(values(late), [1, 4])
  },

  'finds the runs to compare with by their periods: the nearest of each step, each once, of the same series':
    async ({ store }) => {
      await register(store)
      const run = (start: string, series = 'of ORD') =>
        made(store, card({ series, period: { start, label: start } }))
      const year = await run('2000-06-19')
      await run('2000-06-29')
      const month = await run('2001-05-21')
      await run('2001-06-11')
      const week = await run('2001-06-11')
      await run('2001-06-17', 'of another airport')
      const again = await run('2001-06-18')
      const own = await run('2001-06-18')
      await run('2001-06-18')
      await run('2001-06-19')
      const earlier = async (insight_id: string, workspace_id = WORKSPACE) =>
        (await store.earlierInsights({ workspace_id, insight_id }))?.map((one) => [one.insight_id, one.steps])
      assert.deepEqual(await earlier(own), [
        [week, ['before', 'week']],
        [again, ['again']],
        [month, ['month']],
        [year, ['year']],
      ])
      assert.deepEqual(await earlier(year), [])
      const [first] = (await store.earlierInsights({ workspace_id: WORKSPACE, insight_id: own }))!
      const { items } = await store.listInsights({ workspace_id: WORKSPACE, limit: 20 })
      const { title, period, created_at } = items.find(({ insight_id }) => insight_id === week)!
      assert.deepEqual(first, { insight_id: week, title, period, created_at, steps: ['before', 'week'] })
      assert.equal(await earlier(own, await otherWorkspace(store)), undefined)
      assert.equal(await earlier(uuidv7()), undefined)
    },

  'finds the runs to compare with by their times where reports have no period': async ({ store, elapse }) => {
    await register(store)
    const run = () => made(store, card({ period: null }))
    const week = await run()
    await elapse(6 * DAY)
    const day = await run()
    await elapse(DAY - 6 * HOUR)
    const before = await run()
    await elapse(6 * HOUR)
    const own = await run()
    const found = await store.earlierInsights({ workspace_id: WORKSPACE, insight_id: own })
    assert.deepEqual(
      found?.map(({ insight_id, steps }) => [insight_id, steps]),
      [
        [before, ['before']],
        [day, ['day']],
        [week, ['week']],
      ],
    )
  },

  'tells the titles of insights, and lists jobs by how they ended': async ({ store }) => {
    await register(store)
    const insight_id = await made(store, card())
    const skipped = await execute(store)
    await store.completeJob({
      ...skipped,
      insight_id: uuidv7(),
      findings: findings({ skipped: 'condition' }),
    })
    const failed = await execute(store)
    await store.failJob({ ...failed, error: { code: 'analysis_failed', detail: 'No.' } })
    const stopped = await queueNew(store)
    await store.cancelJob(stopped)
    const ended = async (ending: 'failed' | 'canceled' | 'skipped', workspace_id = WORKSPACE) =>
      (await store.listJobs({ workspace_id, ending, limit: 10 })).items.map((job) => job.assignment_id)
    assert.deepEqual(await ended('failed'), [failed.assignment_id])
    assert.deepEqual(await ended('canceled'), [stopped.assignment_id])
    assert.deepEqual(await ended('skipped'), [skipped.assignment_id])
    const other = await otherWorkspace(store)
    assert.deepEqual(await ended('failed', other), [])
    const insight_ids = [insight_id, uuidv7()]
    assert.deepEqual(await store.insightTitles({ workspace_id: WORKSPACE, insight_ids }), [
      { insight_id, title: 'Delays' },
    ])
    assert.deepEqual(await store.insightTitles({ workspace_id: other, insight_ids }), [])
    const assignment_ids = [failed.assignment_id, stopped.assignment_id, uuidv7()]
    const found = await store.getJobs({ workspace_id: WORKSPACE, assignment_ids })
    assert.deepEqual(
      new Set(found.map((job) => job.assignment_id)),
      new Set([failed.assignment_id, stopped.assignment_id]),
    )
    assert.deepEqual(await store.getJobs({ workspace_id: other, assignment_ids }), [])
  },

  'shows insights to their own workspace only, and none whose job was deleted': async ({ store }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    const one = await made(store, card())
    const theirs = await made(store, card(), { workspace_id })
    const list = (of: string) => store.listInsights({ workspace_id: of, limit: 10, q: 'late' })
    assert.deepEqual(ids((await list(WORKSPACE)).items), [one])
    const { items } = await list(workspace_id)
    assert.deepEqual(ids(items), [theirs])
    assert.equal(items[0]!.history.length, 1)
    const { assignment_id } = items[0]!
    await store.deleteJob({ workspace_id, assignment_id })
    assert.deepEqual(sorted(ids((await list(workspace_id)).items)), [])
  },
}
