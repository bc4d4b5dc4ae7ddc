import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { ScheduleReaders } from '@assay/model/schedule'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { fire } from './firing.ts'

const WORKSPACE = 'default'
const MATERIAL = {
  template: { template_id: 'hello', version: 'v', source: '# Hello\n', partials: {} },
  variables: {},
}
const noMail = async (): Promise<null> => null

interface World {
  store: Store
  clock: FakeClock
  schedule_id: string
}

/** Opens a store with 130 readers and a schedule over them that is due. */
async function open(
  t: TestContext,
  readers: ScheduleReaders,
  max_queued: number | null = null,
): Promise<World> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-firing-'))
  const clock = new FakeClock(Date.parse('2026-03-01T05:59:00Z'))
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  const many = Array.from({ length: 130 }, (_, index) => ({
    reader_id: `r${index}`,
    name: `Reader ${index}`,
    email: null,
    user_id: null,
    attributes: { region: index % 5 === 0 ? 'north' : 'west', teams: index % 2 === 0 ? ['a', 'b'] : ['c'] },
  }))
  await store.putReaders({ workspace_id: WORKSPACE, readers: many })
  await store.updateWorkspace({ workspace_id: WORKSPACE, patch: { max_queued } })
  const schedule_id = uuidv7()
  await store.createSchedule({
    schedule_id,
    workspace_id: WORKSPACE,
    user_id: 'ada',
    name: 'Weekly',
    template_id: 'hello',
    variables: {},
    cron: '0 6 * * *',
    time_zone: 'UTC',
    starts_at: null,
    ends_at: null,
    missed: 'skip',
    missed_limit: 10,
    overlap: 'queue',
    paused: false,
    presence_name: null,
    priority: 0,
    metadata: {},
    readers,
  })
  clock.advance(120_000)
  return { store, clock, schedule_id }
}

/** Claims a due schedule and fires it. Resolves with null if none is due. */
async function work({ store }: World, failAfter = Number.POSITIVE_INFINITY) {
  const [claimed] = await store.claimSchedules({ limit: 1 })
  if (!claimed) return null
  let pages = 0
  const dying: Pick<Store, 'readersAfter' | 'findReaders' | 'fireSchedule'> = {
    readersAfter: store.readersAfter,
    findReaders: store.findReaders,
    async fireSchedule(page) {
      pages += 1
      if (pages > failAfter) throw new Error('The process has died.')
      return store.fireSchedule(page)
    },
  }
  const { schedule, plan } = claimed
  return fire({ store: dying, mailOf: noMail }, schedule, { plan, material: MATERIAL })
}

/** Returns the number of jobs of each reader. */
async function jobsOf({ store, schedule_id }: World): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let cursor: string | undefined, more = true; more; ) {
    const page = await store.listJobs({
      workspace_id: WORKSPACE,
      schedule_id,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { reader_id } of page.items) counts.set(reader_id!, (counts.get(reader_id!) ?? 0) + 1)
    more = page.next_cursor !== null
    cursor = page.next_cursor ?? undefined
  }
  return counts
}

const once = (counts: Map<string, number>): boolean => [...counts.values()].every((count) => count === 1)

test('a death between the pages of a firing loses no job and doubles none', async (t) => {
  for (const pages of [0, 1]) {
    const world = await open(t, 'all')
    await assert.rejects(work(world, pages), /has died/)
    assert.equal((await jobsOf(world)).size, pages * 100)
    assert.equal(await work(world), null, 'the claim of the dead holds for a while')
    world.clock.advance(16_000)
    await work(world)
    const counts = await jobsOf(world)
    assert.equal(counts.size, 130)
    assert.ok(once(counts))
    const schedule = await world.store.getSchedule({
      workspace_id: WORKSPACE,
      schedule_id: world.schedule_id,
    })
    assert.equal(schedule!.firing, null)
    assert.equal(schedule!.counts.made, 130)
    assert.equal(schedule!.next_due_at, '2026-03-02T06:00:00.000Z')
    world.clock.advance(60_000)
    assert.equal(await work(world), null)
  }
})

test('a firing waits while the queue is full, and drops nobody', async (t) => {
  const world = await open(t, 'all', 60)
  assert.deepEqual(await work(world), { made: 60, full: true })
  assert.equal(await work(world), null, 'it waits some seconds')
  world.clock.advance(6_000)
  assert.deepEqual(await work(world), { made: 0, full: true })
  const { items } = await world.store.listJobs({ workspace_id: WORKSPACE, limit: 200, job_status: 'queued' })
  for (const job of items) await world.store.cancelJob(job)
  for (let round = 0; round < 3; round += 1) {
    world.clock.advance(6_000)
    await work(world)
    const waiting = await world.store.listJobs({ workspace_id: WORKSPACE, limit: 200, job_status: 'queued' })
    for (const job of waiting.items) await world.store.cancelJob(job)
  }
  const counts = await jobsOf(world)
  assert.equal(counts.size, 130)
  assert.ok(once(counts))
})

test('a firing over a list drops nobody whose id sorts otherwise by its bytes', async (t) => {
  const ids = ['\u{1F600}', '\uFF5E']
  const world = await open(t, ids, 1)
  const readers = ids.map((reader_id) => ({
    reader_id,
    name: reader_id,
    email: null,
    user_id: null,
    attributes: {},
  }))
  await world.store.putReaders({ workspace_id: WORKSPACE, readers })
  for (let round = 0; round < 2; round += 1) {
    await work(world)
    const { items } = await world.store.listJobs({
      workspace_id: WORKSPACE,
      limit: 9,
      job_status: 'queued',
    })
    for (const job of items) await world.store.cancelJob(job)
    world.clock.advance(6_000)
  }
  assert.deepEqual([...(await jobsOf(world)).keys()].toSorted(), ids)
})

test('a schedule is for all readers, for some by id, or for those with attributes', async (t) => {
  const wanted: [ScheduleReaders, number][] = [
    [['r7', 'r3', 'nobody'], 2],
    [{ where: { region: 'north' } }, 26],
    [{ where: { region: ['north', 'west'], teams: 'b' } }, 65],
    [{ where: { region: 'north', level: 3 } }, 0],
  ]
  for (const [readers, count] of wanted) {
    const world = await open(t, readers)
    await work(world)
    const counts = await jobsOf(world)
    assert.equal(counts.size, count, JSON.stringify(readers))
    assert.ok(once(counts))
  }
})

const FAULT = { error: { code: 'invalid', detail: 'It cannot be read.', errors: [] } }

/** Settles the due schedule with a fault of its template. Resolves with the schedule. */
async function breakOff({ store, schedule_id }: World) {
  const [claimed] = await store.claimSchedules({ limit: 1 })
  const { revision } = claimed!.schedule
  await store.settleSchedule({ schedule_id, revision, plan: claimed!.plan, outcome: FAULT })
  return (await store.getSchedule({ workspace_id: WORKSPACE, schedule_id }))!
}

async function cancelQueued({ store }: World): Promise<void> {
  const { items } = await store.listJobs({ workspace_id: WORKSPACE, limit: 200, job_status: 'queued' })
  for (const job of items) await store.cancelJob(job)
}

test('readers who wait when the template breaks are served once it is mended', async (t) => {
  const world = await open(t, 'all', 100)
  await work(world)
  for (let round = 0; round < 2; round += 1) {
    world.clock.advance(round === 0 ? 6_000 : 60_000)
    const broken = await breakOff(world)
    assert.deepEqual([broken.firing?.made, broken.counts.failed], [100, 0])
    assert.match(
      broken.last_error!.detail,
      /^It cannot be read\. For this due time 100 jobs are made\. .* until 2026-03-02/,
    )
    assert.equal(await work(world), null, 'it waits a minute')
  }
  const told = await world.store.listEvents({
    workspace_id: WORKSPACE,
    type: 'schedule.failed',
    limit: 9,
    order: 'newest',
  })
  assert.equal(told.items.length, 1)
  await cancelQueued(world)
  world.clock.advance(60_000)
  assert.deepEqual(await work(world), { made: 30, full: false })
  const counts = await jobsOf(world)
  assert.equal(counts.size, 130)
  assert.ok(once(counts))
})

test('readers of a template that stays broken wait until the next due time, which is for all', async (t) => {
  const world = await open(t, 'all', 100)
  await work(world)
  world.clock.advance(24 * 3_600_000)
  const failed = await breakOff(world)
  assert.deepEqual(
    [failed.firing, failed.counts.failed, failed.next_due_at],
    [null, 1, '2026-03-02T06:00:00.000Z'],
  )
  await cancelQueued(world)
  await work(world)
  await cancelQueued(world)
  world.clock.advance(6_000)
  await work(world)
  const counts = await jobsOf(world)
  assert.equal(counts.size, 130)
  assert.deepEqual(new Set(counts.values()), new Set([1, 2]))
})
