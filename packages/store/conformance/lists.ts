/**
 * Lists by filters without an index, and lists of long rows. A page reads and holds a bounded number of rows, and no
 * row is missed.
 */
import assert from 'node:assert/strict'
import type { NewAuditRecord } from '@assay/model/audit'
import type { Job } from '@assay/model/job'
import { LOOKED_AT_MOST, PAGE_BYTES } from '../list.ts'
import type { Store } from '../store.ts'
import { at, type ConformanceTests, jobInput, WORKSPACE } from './given.ts'

/** Writes records of one action, ten in each millisecond. The newest has the place 1. */
async function fillTrail(store: Store, count: number, byAda: number[], now: number): Promise<void> {
  const places = new Set(byAda)
  const records = Array.from({ length: count }, (_, index): NewAuditRecord => {
    const place = count - index
    return {
      workspace_id: WORKSPACE,
      at: at(now - Math.floor(place / 10)),
      action: 'job.create',
      object_id: String(place),
      fields: [],
      user_id: places.has(place) ? 'ada' : 'bob',
      token_id: null,
      address: null,
      request_id: null,
    }
  })
  await store.writeAudit(records)
}

/** Returns the places of the found records, page by page. */
async function walk(store: Store, limit: number): Promise<number[][]> {
  const pages: number[][] = []
  let cursor: string | undefined
  do {
    const page = await store.listAudit({ workspace_id: WORKSPACE, user_id: 'ada', limit, cursor })
    pages.push(page.items.map(({ object_id }) => Number(object_id)))
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return pages
}

/** Places on both sides of each border. */
const PLACES = [1, 2, 40, LOOKED_AT_MOST - 1, LOOKED_AT_MOST, LOOKED_AT_MOST + 1, 2 * LOOKED_AT_MOST + 7]

export const listTests: ConformanceTests = {
  'a filter without an index gives everything once and in order, in pages of any length': async ({
    store,
    now,
  }) => {
    // Records of one millisecond are in the order of their ids, in which they were made.
    await fillTrail(store, 2 * LOOKED_AT_MOST + 50, PLACES, now())
    for (const limit of [1, 2, 5, 200])
      assert.deepEqual((await walk(store, limit)).flat(), PLACES, `${limit}`)
  },

  'a page that looked at all it may is short, or empty, and says where to go on': async ({ store, now }) => {
    await fillTrail(store, 2 * LOOKED_AT_MOST + 50, [3, 2 * LOOKED_AT_MOST + 20], now())
    assert.deepEqual(await walk(store, 50), [[3], [], [2 * LOOKED_AT_MOST + 20]])
  },

  'a list ends where no more rows are, found or not': async ({ store, now }) => {
    await fillTrail(store, LOOKED_AT_MOST - 1, [], now())
    assert.deepEqual(await walk(store, 50), [[]])
  },

  'a page ends where what clients wrote has so many bytes, and the walk misses nothing': async ({
    store,
  }) => {
    // Short rows stand beside long ones. One row alone is longer than a page.
    const lengths = [10, 400_000, 10, 400_000, 300_000, PAGE_BYTES + 10, 10, 6000, 400_000]
    const made: string[] = []
    for (const length of lengths) {
      const job = await store.createJob(jobInput({ variables: { text: 'x'.repeat(length) } }))
      made.unshift(job.assignment_id)
    }
    // The filters are the workspace alone, one with an index, and one without.
    for (const filters of [
      {},
      { template_id: jobInput().template.template_id },
      { user_id: jobInput().user_id },
    ]) {
      const found: Job[] = []
      let cursor: string | undefined
      do {
        const page = await store.listJobs({ workspace_id: WORKSPACE, limit: 200, cursor, ...filters })
        const bytes = JSON.stringify(page.items.map(({ variables }) => variables)).length
        assert.ok(page.items.length === 1 || bytes <= PAGE_BYTES + 200, `${bytes}`)
        found.push(...page.items)
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      assert.deepEqual(
        found.map(({ assignment_id }) => assignment_id),
        made,
      )
      assert.deepEqual(
        found.map(({ variables }) => (variables['text'] as string).length),
        lengths.toReversed(),
      )
    }
  },
}
