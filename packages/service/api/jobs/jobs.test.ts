import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { openTestServer } from '../test-server.ts'

const UNKNOWN = '0198c0de-0000-7000-8000-00000000000a'
const payload = (more: Record<string, unknown> = {}) => ({
  payload: { type: 'template', template_id: 'hello', ...more },
})
const assignment = (assignment_id: unknown) => ({ payload: { type: 'assignment', assignment_id } })

test('follows the reference workflow from template to insight', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const [template] = (await ask('GET', '/v1alpha/jobs/templates')).json()
  const created = await ask('POST', '/v1alpha/jobs/', {
    body: {
      payload: {
        type: 'template',
        template_id: template.template_id,
        template_vars: { who: 'Ada', times: '3' },
      },
    },
  })
  assert.equal(created.status, 200)
  assert.match(created.text, /^"[0-9a-f-]{36}"$/)
  const raw = created.text
  const run = await ask('POST', '/v1alpha/jobs/run', { body: assignment(raw) })
  assert.equal(run.json().job_status, 'queued')
  const insight_id = await complete(created.json())
  const status = (await ask('GET', `/v1alpha/jobs/status?assignment_id=${encodeURIComponent(raw)}`)).json()
  assert.equal(status.job_status, 'completed')
  assert.equal(status.insight_id, insight_id)
  const result = await ask('GET', `/v1alpha/jobs/result?insight_id=${status.insight_id}`)
  assert.equal(result.text, '# Hello world\n')
  assert.equal(result.headers['content-type'], 'text/markdown; charset=utf-8')
})

test('gives the bare id to a client that wants text', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('POST', '/v1alpha/jobs/', { body: payload(), headers: { accept: 'text/plain' } })
  assert.match(answer.text, /^[0-9a-f-]{36}$/)
  assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
  const axios = { accept: 'application/json, text/plain, */*' }
  assert.match((await ask('POST', '/v1alpha/jobs/', { body: payload(), headers: axios })).text, /^"/)
})

test('keeps what a job was created with, and shows the fields of a status', async (t) => {
  const { ask, store } = await openTestServer(t)
  const body = payload({
    template_vars: { times: '4' },
    presence_name: 'reports',
    priority: 7,
    metadata: { a: 'b' },
  })
  const id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  const status = (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).json()
  assert.deepEqual(Object.keys(status).toSorted(), [
    'assignment_id',
    'attempt',
    'batch_id',
    'created_at',
    'error',
    'finished_at',
    'insight_id',
    'job_status',
    'metadata',
    'notify',
    'presence_name',
    'progress',
    'queued_at',
    'reader_id',
    'schedule_id',
    'scheduled_for',
    'skipped',
    'started_at',
    'template_id',
    'template_vars',
    'template_version',
    'user_id',
  ])
  assert.equal(status.job_status, 'draft')
  assert.equal(status.user_id, 'ada')
  assert.deepEqual(status.metadata, { a: 'b' })
  const job = await store.getJob({ workspace_id: 'default', assignment_id: id })
  assert.deepEqual(job?.variables, { who: 'world', times: 4, mood: null })
  assert.equal(job?.priority, 7)
})

test('takes null for each optional member of a creation as leaving it out', async (t) => {
  const { ask, store } = await openTestServer(t)
  const absent = { template_vars: null, presence_name: null, notify: null, priority: null, metadata: null }
  const answer = await ask('POST', '/v1alpha/jobs', { body: payload(absent) })
  assert.equal(answer.status, 200)
  const job = await store.getJob({ workspace_id: 'default', assignment_id: answer.json() })
  assert.deepEqual(job?.variables, { who: 'world', times: 1, mood: null })
  assert.deepEqual([job?.presence_name, job?.priority, job?.metadata], [null, 0, {}])
  const items = [{ template_vars: null, metadata: null }]
  const batch = await ask('POST', '/v1alpha/jobs/bulk', { body: { template_id: 'hello', items, run: null } })
  assert.equal(batch.json().created, 1)
})

test('refuses a job with every fault of its variables at once', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('POST', '/v1alpha/jobs', {
    body: payload({ template_vars: { wo: 1, times: 'many', mood: 'bored', who: 'x'.repeat(21) } }),
  })
  assert.equal(answer.status, 422)
  const paths = answer
    .json()
    .errors.map((fault: { path: string }) => fault.path)
    .toSorted()
  assert.deepEqual(
    paths,
    ['mood', 'times', 'who', 'wo'].map((name) => `payload.template_vars.${name}`),
  )
})

test('refuses what does not fit, and says where', async (t) => {
  const { ask } = await openTestServer(t)
  const faults = async (body: unknown): Promise<string[]> =>
    (await ask('POST', '/v1alpha/jobs', { body })).json().errors.map((fault: { path: string }) => fault.path)
  assert.deepEqual(await faults([]), ['body'])
  assert.deepEqual(await faults({ payload: { type: 'assignment', template_id: 'hello' } }), ['payload.type'])
  assert.deepEqual(await faults(payload({ priority: 101 })), ['payload.priority'])
  assert.deepEqual(await faults(payload({ metadata: { a: 1 } })), ['payload.metadata.a'])
  assert.deepEqual(await faults(payload({ presence_name: '' })), ['payload.presence_name'])
  assert.equal(
    (await ask('POST', '/v1alpha/jobs', { body: { payload: { type: 'template', template_id: 'nope' } } }))
      .status,
    404,
  )
})

test('runs a job once, however often it is told, and no job that has ended', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  const first = (await ask('POST', '/v1alpha/jobs/run', { body: assignment(id) })).json()
  const second = (await ask('POST', '/v1alpha/jobs/run/', { body: assignment(id) })).json()
  assert.equal(second.queued_at, first.queued_at)
  await complete(id)
  const ended = await ask('POST', '/v1alpha/jobs/run', { body: assignment(id) })
  assert.equal(ended.status, 409)
  assert.equal(ended.json().code, 'job_final')
})

test('cancels a job at once and again, but none that is completed', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  for (let count = 0; count < 2; count += 1) {
    const answer = await ask('POST', '/v1alpha/jobs/cancel', { body: assignment(id) })
    assert.equal(answer.status, 200)
    assert.equal(answer.json().job_status, 'canceled')
    assert.equal(answer.json().error.code, 'canceled_by_user')
  }
  const other = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: assignment(other) })
  await complete(other)
  assert.equal((await ask('POST', '/v1alpha/jobs/cancel', { body: assignment(other) })).status, 409)
})

test('answers an unknown job and one of another workspace alike', async (t) => {
  const { ask, store, token } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  const stranger = await token('second', ['admin'])
  const requests: [string, string, unknown?][] = [
    ['GET', '/v1alpha/jobs/status?assignment_id=ID'],
    ['GET', '/v1alpha/jobs/events?assignment_id=ID'],
    ['GET', '/v1alpha/jobs/result?insight_id=ID'],
    ['POST', '/v1alpha/jobs/run', assignment('ID')],
    ['POST', '/v1alpha/jobs/cancel', assignment('ID')],
    ['DELETE', '/v1alpha/jobs/ID'],
  ]
  for (const [method, url, body] of requests) {
    const details = []
    for (const one of [id, UNKNOWN]) {
      const asked =
        body === undefined ? {} : { body: JSON.parse(JSON.stringify(body).replace('ID', one)) as unknown }
      const answer = await ask(method, url.replace('ID', one), { token: stranger, ...asked })
      assert.equal(answer.status, 404, url)
      details.push(answer.json().detail.replace(one, 'ID'))
      assert.equal(
        (
          await ask(method, url.replace('ID', 'x'), {
            token: stranger,
            ...(body ? { body: assignment('x') } : {}),
          })
        ).status,
        422,
        url,
      )
    }
    assert.equal(details[0], details[1])
  }
})

test('waits for the end of a job and answers as soon as it has come', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: assignment(id) })
  const waiting = ask('GET', `/v1alpha/jobs/status?assignment_id=${id}&wait=60`)
  await complete(id)
  assert.equal((await waiting).json().job_status, 'completed')
  assert.equal(
    (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}&wait=60`)).json().job_status,
    'completed',
  )
  const short = await ask(
    'GET',
    `/v1alpha/jobs/status?assignment_id=${(await ask('POST', '/v1alpha/jobs', { body: payload() })).json()}&wait=1`,
  )
  assert.equal(short.json().job_status, 'draft')
  assert.equal((await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}&wait=61`)).status, 422)
})

test('answers a wait by 50 seconds, however long it is', async (t) => {
  const clock = new FakeClock()
  const { ask } = await openTestServer(t, { clock })
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  const asleep = clock.sleeping
  let answered = false
  const waiting = ask('GET', `/v1alpha/jobs/status?assignment_id=${id}&wait=60`)
  void waiting.then(() => (answered = true))
  const sleeps = async (): Promise<void> => {
    while (clock.sleeping === asleep) await new Promise((resolve) => setImmediate(resolve))
  }
  await sleeps()
  clock.advance(49_999)
  await sleeps()
  assert.equal(answered, false)
  clock.advance(1)
  assert.equal((await waiting).json().job_status, 'draft')
})

test('never answers a status that is older than a commit', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  const status = async (): Promise<string> =>
    (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).json().job_status
  assert.equal(await status(), 'draft')
  assert.equal(await status(), 'draft')
  await ask('POST', '/v1alpha/jobs/run', { body: assignment(id) })
  assert.equal(await status(), 'queued')
  await complete(id)
  assert.equal(await status(), 'completed')
  await ask('DELETE', `/v1alpha/jobs/${id}`)
  assert.equal((await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).status, 404)
})

test('lists jobs by page, newest first, and by each filter', async (t) => {
  const { ask } = await openTestServer(t)
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1)
    ids.unshift((await ask('POST', '/v1alpha/jobs', { body: payload() })).json())
  const seen: string[] = []
  let cursor = ''
  do {
    const page = (await ask('GET', `/v1alpha/jobs/?limit=2${cursor}`)).json()
    seen.push(...page.items.map((job: { assignment_id: string }) => job.assignment_id))
    cursor = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`
  } while (cursor !== '')
  assert.deepEqual(seen, ids)
  const count = async (query: string): Promise<number> =>
    (await ask('GET', `/v1alpha/jobs?${query}`)).json().items.length
  assert.equal(await count('job_status=draft'), 5)
  assert.equal(await count('job_status=queued'), 0)
  assert.equal(await count('template_id=other'), 0)
  const { user_id } = (await ask('GET', '/v1alpha/jobs?limit=1')).json().items[0]
  assert.deepEqual([await count(`user_id=${user_id}`), await count('user_id=nobody')], [5, 0])
  assert.equal(await count('created_after=2020-01-01T00:00:00%2B01:00'), 5)
  assert.equal(await count('created_before=2020-01-01T00:00:00Z'), 0)
  assert.equal((await ask('GET', '/v1alpha/jobs?job_status=done')).status, 422)
  await ask('POST', '/v1alpha/jobs', { body: payload({ presence_name: 'ops' }) })
  assert.equal(await count('presence_name=ops'), 1)
})

test('deletes a job that has ended, with its insight, and no other', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const id = (await ask('POST', '/v1alpha/jobs', { body: payload() })).json()
  const early = await ask('DELETE', `/v1alpha/jobs/${id}`)
  assert.equal(early.status, 409)
  assert.equal(early.json().code, 'job_unfinished')
  await ask('POST', '/v1alpha/jobs/run', { body: assignment(id) })
  const insight_id = await complete(id)
  const deleted = await ask('DELETE', `/v1alpha/jobs/%22${id}%22/`)
  assert.equal(deleted.status, 204)
  assert.equal(deleted.text, '')
  assert.equal((await ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`)).status, 404)
  assert.equal((await ask('DELETE', `/v1alpha/jobs/${id}`)).status, 404)
})

test('lists jobs by how they ended, with the titles of their insights, or what their template calls them', async (t) => {
  const { ask, complete } = await openTestServer(t)
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id: string = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  await complete(assignment_id, { title: 'Hello, Ada' })
  const stopped: string = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/cancel', {
    body: { payload: { type: 'assignment', assignment_id: stopped } },
  })
  const list = async (query: string) => (await ask('GET', `/v1alpha/jobs?${query}`)).json().items
  assert.deepEqual(
    (await list('')).map((job: { title: string | null }) => job.title),
    ['Hello world', 'Hello, Ada'],
  )
  assert.deepEqual(
    (await list('ending=canceled')).map((job: { assignment_id: string }) => job.assignment_id),
    [stopped],
  )
  assert.deepEqual(await list('ending=failed'), [])
  const wrong = await ask('GET', '/v1alpha/jobs?ending=failed&job_status=canceled')
  assert.deepEqual([wrong.status, wrong.json().errors[0].path], [422, 'ending'])
})
