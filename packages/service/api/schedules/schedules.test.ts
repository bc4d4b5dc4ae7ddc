import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { openTestServer } from '../test-server.ts'

const INPUT = {
  name: 'Every morning',
  template_id: 'hello',
  template_vars: { who: 'Ada', times: '3' },
  cron: '30 6 * * MON-FRI',
  time_zone: 'Europe/Berlin',
}
const AT = '/v1alpha/schedules'

test('a schedule is made, shown with its next runs, changed, paused and deleted', async (t) => {
  const { ask } = await openTestServer(t, { clock: new FakeClock(Date.parse('2026-03-26T12:00:00Z')) })
  const made = await ask('POST', AT, { body: INPUT })
  assert.equal(made.status, 201, made.text)
  const { schedule_id, next_runs, next_due_at, template_vars, missed, overlap, counts } = made.json()
  assert.equal(made.headers.location, `${AT}/${schedule_id}`)
  assert.deepEqual(next_runs, [
    '2026-03-27T05:30:00.000Z',
    '2026-03-30T04:30:00.000Z',
    '2026-03-31T04:30:00.000Z',
    '2026-04-01T04:30:00.000Z',
    '2026-04-02T04:30:00.000Z',
  ])
  assert.equal(next_due_at, next_runs[0])
  assert.deepEqual(template_vars, INPUT.template_vars, 'as given')
  assert.deepEqual([missed, overlap, counts.made], ['skip', 'queue', 0])
  const changed = await ask('PATCH', `${AT}/${schedule_id}`, { body: { cron: '@daily', time_zone: 'UTC' } })
  assert.equal(changed.json().next_due_at, '2026-03-27T00:00:00.000Z')
  const paused = await ask('PATCH', `${AT}/${schedule_id}`, { body: { paused: true } })
  assert.deepEqual([paused.json().next_due_at, paused.json().next_runs], [null, []])
  const listed = await ask('GET', `${AT}?paused=true&template_id=hello`)
  assert.deepEqual(listed.json().items, [{ ...paused.json(), failing: null }])
  assert.equal((await ask('DELETE', `${AT}/${schedule_id}`)).status, 204)
  for (const method of ['GET', 'DELETE'])
    assert.equal((await ask(method, `${AT}/${schedule_id}`)).status, 404)
})

test('every fault of a schedule comes back with its field', async (t) => {
  const { ask } = await openTestServer(t)
  const faults = async (over: object) => {
    const answer = await ask('POST', AT, { body: { ...INPUT, ...over } })
    assert.equal(answer.status, 422, answer.text)
    return answer
      .json()
      .errors.map(({ path, message }: { path: string; message: string }) => `${path}: ${message}`)
  }
  assert.match((await faults({ cron: '0 25 * * *' }))[0], /^cron: hour: "25" is not within 0 to 23/)
  assert.match((await faults({ time_zone: 'Mars/Olympus' }))[0], /^time_zone: must be an IANA name/)
  assert.match((await faults({ time_zone: '+02:00' }))[0], /^time_zone/)
  assert.match((await faults({ missed: 'all', overlap: 'skip' }))[0], /^missed: cannot be all/)
  assert.match(
    (await faults({ starts_at: '2030-01-02T00:00:00Z', ends_at: '2030-01-01T00:00:00Z' }))[0],
    /^ends_at: must be after/,
  )
  assert.match((await faults({ ends_at: '2020-01-01T00:00:00Z' }))[0], /^ends_at: lies before/)
  assert.deepEqual(await faults({ template_vars: { who: 'x'.repeat(21), nobody: 1 } }), [
    ...(await faults({ template_vars: { nobody: 1 } })),
    ...(await faults({ template_vars: { who: 'x'.repeat(21) } })),
  ])
  assert.match((await faults({ template_vars: { times: 99 } }))[0], /^template_vars\.times: /)
  assert.match((await faults({ corn: '@daily' }))[0], /^corn: is not a known key; did you mean "cron"/)
  assert.equal((await ask('POST', AT, { body: { ...INPUT, template_id: 'none' } })).status, 404)
})

test('a cron expression is previewed by anyone who may read, with the faults of a schedule', async (t) => {
  const { ask, tokens } = await openTestServer(t, {
    clock: new FakeClock(Date.parse('2026-03-26T12:00:00Z')),
  })
  const preview = (query: Record<string, string>) =>
    ask('GET', `${AT}/preview?${new URLSearchParams(query).toString()}`, { token: tokens.viewer })
  const { cron, time_zone } = INPUT
  const { schedule_id, next_runs } = (await ask('POST', AT, { body: INPUT })).json()
  assert.deepEqual((await preview({ cron, time_zone })).json(), { next_runs }, 'as a schedule would have')
  const bounded = await preview({
    cron,
    starts_at: '2026-04-06T00:00:00Z',
    ends_at: '2026-04-07T12:00:00+02:00',
  })
  assert.deepEqual(bounded.json().next_runs, ['2026-04-06T06:30:00.000Z', '2026-04-07T06:30:00.000Z'])
  const faults = await preview({ cron: '0 25 * * *', time_zone: 'Mars/Olympus' })
  assert.equal(faults.status, 422)
  assert.deepEqual(
    faults.json().errors.map(({ path }: { path: string }) => path),
    ['cron', 'time_zone'],
  )
  assert.equal((await preview({})).status, 422)
  const kept = (await ask('GET', AT)).json().items
  assert.deepEqual([kept.length, kept[0].schedule_id], [1, schedule_id], 'a preview keeps nothing')
})

test('one that has ended may still be renamed, and not be resumed', async (t) => {
  const clock = new FakeClock(Date.parse('2026-03-26T12:00:00Z'))
  const { ask } = await openTestServer(t, { clock })
  const body = { ...INPUT, ends_at: '2026-04-01T00:00:00Z' }
  const at = `${AT}/${(await ask('POST', AT, { body })).json().schedule_id}`
  clock.advance(30 * 86_400_000)
  const renamed = await ask('PATCH', at, { body: { name: 'of old', ends_at: body.ends_at } })
  assert.deepEqual([renamed.status, renamed.json().name], [200, 'of old'], renamed.text)
  assert.equal((await ask('PATCH', at, { body: { paused: true } })).status, 200)
  const resumed = await ask('PATCH', at, { body: { paused: false } })
  assert.deepEqual(
    [resumed.status, resumed.json().errors],
    [422, [{ path: 'ends_at', message: 'lies before the next due time' }]],
  )
  const late = await ask('POST', AT, { body: { ...INPUT, starts_at: '9999-12-31T23:59:59Z' } })
  assert.deepEqual([late.status, late.json().errors[0].path], [422, 'starts_at'])
})

test('a schedule is run now, once for a key, and its jobs name it', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const { schedule_id } = (await ask('POST', AT, { body: { ...INPUT, priority: 7 } })).json()
  const headers = { 'idempotency-key': 'now' }
  const first = await ask('POST', `${AT}/${schedule_id}/run-now`, { headers, token: tokens.analyst })
  assert.equal(first.status, 201, first.text)
  const again = await ask('POST', `${AT}/${schedule_id}/run-now`, { headers, token: tokens.analyst })
  assert.deepEqual(again.json(), first.json())
  const job = first.json()
  assert.deepEqual([job.job_status, job.schedule_id, job.scheduled_for], ['queued', schedule_id, null])
  assert.deepEqual(job.template_vars, { who: 'Ada', times: 3, mood: null })
  const { items } = (await ask('GET', `/v1alpha/jobs/?schedule_id=${schedule_id}`)).json()
  assert.deepEqual(items, [{ ...job, title: 'Hello Ada' }])
  assert.equal((await ask('GET', `${AT}/${schedule_id}`)).json().last_run.assignment_id, job.assignment_id)
})

test('a viewer reads schedules and makes none, and another workspace sees none', async (t) => {
  const { ask, tokens, token, store } = await openTestServer(t)
  assert.equal((await ask('POST', AT, { body: INPUT, token: tokens.viewer })).status, 403)
  const { schedule_id } = (await ask('POST', AT, { body: INPUT })).json()
  assert.equal((await ask('GET', `${AT}/${schedule_id}`, { token: tokens.viewer })).status, 200)
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  const stranger = await token('other', ['admin'])
  for (const method of ['GET', 'DELETE'])
    assert.equal((await ask(method, `${AT}/${schedule_id}`, { token: stranger })).status, 404)
  const patched = await ask('PATCH', `${AT}/${schedule_id}`, { token: stranger, body: { name: 'x' } })
  assert.equal(patched.status, 404)
  assert.equal((await ask('POST', `${AT}/${schedule_id}/run-now`, { token: stranger })).status, 404)
  assert.deepEqual((await ask('GET', AT, { token: stranger })).json().items, [])
})

test('a schedule whose template is gone can still be renamed and paused, but not resumed or given other variables', async (t) => {
  const { ask, store } = await openTestServer(t)
  const put = {
    workspace_id: 'default',
    template_id: 'mine',
    user_id: 'ada',
    source: '---\ntitle: Mine\n---\n# Mine\n',
  }
  await store.putTemplate(put)
  const body = { ...INPUT, template_id: 'mine', template_vars: {} }
  const { schedule_id } = (await ask('POST', AT, { body })).json()
  await store.deleteTemplate(put)
  assert.equal((await ask('POST', `${AT}/${schedule_id}/run-now`)).status, 404)
  const patch = (changes: object) => ask('PATCH', `${AT}/${schedule_id}`, { body: changes })
  assert.equal((await patch({ name: 'x', template_vars: {} })).json().name, 'x')
  assert.equal((await patch({ template_vars: { a: 1 } })).status, 404)
  assert.equal((await patch({ paused: true })).json().paused, true)
  assert.equal((await patch({ paused: false })).status, 404)
  assert.equal((await patch({ template_id: 'hello', template_vars: INPUT.template_vars })).status, 200)
  assert.equal((await patch({ paused: false })).json().paused, false)
})

const PERSONAL = '---\nsources: { sales: { file: sales.csv, rows: region = $reader.region } }\n---\n# Sales\n'

test('who is a reader of a schedule is shown to admins alone', async (t) => {
  const { ask, store, tokens } = await openTestServer(t)
  await store.putTemplate({
    workspace_id: 'default',
    template_id: 'mine',
    user_id: 'ada',
    source: PERSONAL,
  })
  const body = { ...INPUT, template_id: 'mine', template_vars: {} }
  const made = await ask('POST', AT, { body: { ...body, readers: ['ada', 'bob'] } })
  assert.deepEqual(made.json().readers, ['ada', 'bob'], made.text)
  const at = `${AT}/${made.json().schedule_id}`
  for (const token of [tokens.viewer, tokens.analyst]) {
    const seen = await ask('GET', at, { token })
    assert.deepEqual(seen.json().readers, { count: 2 })
    assert.equal(seen.headers.etag, undefined, 'it is made from the ids of the readers')
    assert.deepEqual((await ask('GET', AT, { token })).json().items[0].readers, { count: 2 })
  }
  const where = { where: { region: 'north' } }
  assert.deepEqual((await ask('PATCH', at, { body: { readers: where } })).json().readers, where)
  const others = await ask('PATCH', at, { body: { notify: ['reader'] } })
  assert.match(others.text, /each of the readers with an address gets the own insight by mail/)
  const nobody = await ask('POST', AT, { body: { ...INPUT, notify: ['reader'] } })
  assert.match(nobody.text, /the run is of no reader/)
  const own = { ...body, notify: ['reader'] }
  assert.equal((await ask('POST', AT, { body: own })).json().code, 'reader_missing')
})
