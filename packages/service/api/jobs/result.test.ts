import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Pool, TaskError } from '@assay/engine/run/pool'
import { FakeClock, systemClock } from '@assay/model/clock'
import { EarlierInsight } from '@assay/model/earlier-insight'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { Chart } from '@assay/model/insight'
import { chartPlaceholder, InsightView } from '@assay/model/insight'
import { InsightCard } from '@assay/model/insight-card'
import { makeChart } from '../../../engine/charts/spec.ts'
import { validator } from '../http/validate.ts'
import { type Answer, openTestServer, type TestServer } from '../test-server.ts'

const CHART = makeChart(
  'c1',
  [
    { day: 'Mon', delay: 1 },
    { day: 'Tue', delay: 3 },
  ],
  { type: 'bar', x: 'day', y: ['delay'], series: null, title: 'Mean delay' },
)

async function insightOf({ ask, complete }: TestServer, charts: Chart[] = []): Promise<string> {
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const markdown = `# Hello\n\n${charts.map((chart) => `${chartPlaceholder(chart.id)}\n`).join('\n')}`
  return complete(assignment_id, { charts, markdown })
}

test('gives an insight as Markdown, as a page, as JSON or as PDF, by what the client accepts', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const id = await insightOf(api)
  const as = (accept: string) =>
    api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, { headers: { accept } })
  assert.equal((await as('*/*')).headers['content-type'], 'text/markdown; charset=utf-8')
  const page = await as('text/html')
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(page.text, /^<!doctype html>/)
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
  const json = await as('application/json')
  assert.equal(json.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(json.json().insight_id, id)
  const { faults } = validator(InsightView)(json.json(), '')
  assert.deepEqual(faults, [], 'exactly the documented fields')
  const pdf = await as('application/pdf')
  assert.equal(pdf.headers['content-type'], 'application/pdf')
  assert.match(String(pdf.headers['content-disposition']), /^inline; filename="hello-\d{4}-\d\d-\d\d\.pdf"$/)
  assert.match(pdf.text, /^%PDF-1\.7/)
  const none = await as('text/csv')
  assert.equal(none.status, 422)
  assert.match(none.json().detail, /this insight has none/)
  const refused = await as('image/png')
  assert.equal(refused.status, 406)
  assert.equal(refused.json().code, 'not_acceptable')
})

test('tags each form, and sends none that the client has', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const id = await insightOf(api)
  const url = `/v1alpha/jobs/result?insight_id=${id}`
  const tags = new Set<string>()
  for (const [accept, charts] of [
    ['text/markdown', ''],
    ['text/markdown', '&charts=text'],
    ['text/html', ''],
    ['application/json', ''],
    ['application/pdf', ''],
  ] as const) {
    const first = await api.ask('GET', url + charts, { headers: { accept } })
    // A long text has a form for each coding, so its Vary also names Accept-Encoding.
    assert.match(String(first.headers.vary), /^Accept(?:, Accept-Encoding)?$/)
    const tag = String(first.headers.etag)
    tags.add(tag)
    const again = await api.ask('GET', url + charts, {
      headers: { accept, 'if-none-match': `"x", ${tag}` },
    })
    assert.equal(again.status, 304)
    assert.equal(again.text, '')
    assert.equal(again.headers.etag, tag)
  }
  assert.equal(tags.size, 5)
})

test('draws charts in the form that is asked for, and once', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const draw = t.mock.method(api.parts.pool!, 'draw')
  const id = await insightOf(api, [CHART])
  const charts = async (form: string): Promise<string> =>
    (await api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}&charts=${form}`)).text
  assert.match(await charts('mermaid'), /```mermaid/)
  assert.doesNotMatch(await charts('none'), /chart:c1|mermaid|svg/)
  assert.doesNotMatch(await charts('text'), /mermaid|chart:c1/)
  assert.equal(draw.mock.callCount(), 0)
  assert.match(await charts('image'), /!\[Mean delay\]\(data:image\/svg\+xml;base64,/)
  const page = await api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'text/html' },
  })
  assert.match(page.text, /<svg/)
  assert.ok(page.headers.etag)
  const json = await api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'application/json' },
  })
  assert.match(json.json().charts[0].svg, /^<svg/)
  assert.deepEqual(json.json().charts[0].spec, CHART.spec)
  assert.equal(draw.mock.callCount(), 1)
  assert.equal((await api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}&charts=pie`)).status, 422)
})

test('gives the charts as text while they cannot be drawn, and does not tag that', async (t) => {
  const api = await openTestServer(t)
  const id = await insightOf(api, [CHART])
  const page = await api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'text/html' },
  })
  assert.equal(page.status, 200)
  assert.doesNotMatch(page.text, /<svg/)
  assert.equal(page.headers.etag, undefined)
})

type RenderArgs = Parameters<Pool['render']>
const READER = { token: null }

async function openedLink({ ask }: TestServer, insight_id: string): Promise<string> {
  return (await ask('POST', `/v1alpha/insights/${insight_id}/links`, { body: {} })).json().url
}

async function insightWith({ ask, complete }: TestServer, markdown: string): Promise<string> {
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  return complete(assignment_id, { markdown })
}

const TABLE = `| a | b |\n|---|---|\n${'| 1 | *x* |\n'.repeat(33_000)}\nBelow.\n`
/** Markdown whose page takes half a minute of a process's time at millions of characters. */
const hostile = (characters: number): string => '![[]('.repeat(characters / 5)

test('a page of a long table shows its beginning, and is rendered once for all who read it', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const { ask, parts } = api
  const rendering = t.mock.method(parts.pool!, 'render')
  const id = await insightWith(api, TABLE)
  const link = await openedLink(api, id)
  const html = { headers: { accept: 'text/html' } }
  const pages = await Promise.all(Array.from({ length: 8 }, () => ask('GET', link, READER)))
  pages.push(await ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, html), await ask('GET', link, READER))
  assert.equal(rendering.mock.callCount(), 1)
  assert.deepEqual([...new Set(pages.map(({ text }) => text))], [pages[0]!.text])
  const [{ text }] = pages as [Answer]
  assert.equal(text.split('<td class="short"><em>x</em></td>').length - 1, 500)
  assert.match(
    text,
    /<p>The first 500 of 33,000 rows are shown, 32,500 are left out\. [^<]*JSON[^<]*<\/p>\n<p>Below/,
  )
  const whole = await ask('GET', `/v1alpha/jobs/result?insight_id=${id}`)
  assert.equal(whole.text, TABLE)
})

const warnings = ({ mock }: { mock: { calls: { arguments: unknown[] }[] } }): string =>
  mock.calls.map(({ arguments: [given] }) => String((given as { err?: Error }).err)).join()

/**
 * In milliseconds: the limit of a small task, and the limit of a rendering from its begin
 * (engine/run/child/render.ts).
 */
const [TASK_MS, RENDER_MS] = [30_000, 10_000]

/**
 * Counts the renderings that have begun. The limit of the task is set first, and then that of the rendering in its
 * place.
 */
class RenderClock extends FakeClock {
  begun = 0
  #isTaken = false

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === RENDER_MS && this.#isTaken) this.begun += 1
    if (ms === TASK_MS || ms === RENDER_MS) this.#isTaken = ms === TASK_MS
    return super.sleep(ms, signal)
  }
}

/** Lets the limit of a rendering pass, and then the time in which its process may end by itself. */
async function pastItsLimit<T>({ parts }: TestServer, clock: RenderClock, answer: Promise<T>): Promise<T> {
  while (parts.pool!.stats().states.busy === 0 || clock.begun === 0) await systemClock.sleep(5)
  clock.begun = 0
  clock.advance(RENDER_MS)
  const state = { there: false }
  const end = (): boolean => (state.there = true)
  answer.then(end, end)
  while (!state.there) {
    clock.advance(5)
    await systemClock.sleep(5)
  }
  return answer
}

test('other requests are answered while a page is rendered, and one that takes too long is given as Markdown', async (t) => {
  const clock = new RenderClock()
  const api = await openTestServer(t, { pool: 'real', clock })
  const { ask, parts } = api
  const called = Promise.withResolvers<void>()
  const { render } = parts.pool!
  const rendering = t.mock.method(parts.pool!, 'render', function (this: Pool, ...given: RenderArgs) {
    called.resolve()
    return render.apply(this, given)
  })
  const warned = t.mock.method(parts.log, 'warn')
  const link = await openedLink(api, await insightWith(api, `# Mine\n\n${hostile(5_000_000)}\n`))
  const opened = ask('GET', link, READER)
  let rendered = false
  const end = (): boolean => (rendered = true)
  void opened.then(end)
  await called.promise
  assert.equal((await ask('GET', '/healthz', READER)).status, 200)
  assert.equal(rendered, false)
  const page = await pastItsLimit(api, clock, opened)
  assert.equal(page.status, 200)
  assert.match(warnings(warned), /The render took longer than 10 s/)
  assert.match(
    page.text,
    /<p>This text could not be laid out\. [^<]*<\/p>\n<pre tabindex="0"># Mine\n\n!\[\[\]\(/,
  )
  assert.match(page.text, /<p>The last 4,800,0\d\d characters are left out here\./)
  assert.equal((await ask('GET', link, READER)).text, page.text)
  assert.equal(rendering.mock.callCount(), 1)
  clock.advance(300_000)
  await pastItsLimit(api, clock, ask('GET', link, READER))
  assert.equal(rendering.mock.callCount(), 2)
})

test('large insights that are read at once are made one at a time, and other requests are answered between them', async (t) => {
  const api = await openTestServer(t)
  const { ask, store, complete } = api
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const id = await complete(assignment_id, { markdown: `# Large\n\n${'many words '.repeat(100_000)}` })
  let [open, most] = [0, 0]
  for (const name of ['getInsightHead', 'getInsightData'] as const) {
    const read = store[name].bind(store) as (of: never) => Promise<never>
    store[name] = async (of: object) => {
      open += 1
      most = Math.max(most, open)
      return read(of as never).finally(() => (open -= 1))
    }
  }
  const answered: string[] = []
  const reads = Array.from({ length: 8 }, async () => {
    const headers = { accept: 'application/json' }
    const { status, text } = await ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, { headers })
    assert.ok(status === 200 && text.length > 1_000_000)
    answered.push('large')
  })
  const other = ask('GET', '/healthz', { token: null }).then(() => answered.push('other'))
  await Promise.all([...reads, other])
  assert.equal(most, 1)
  assert.ok(answered.indexOf('other') < answered.length - 1, answered.join())
})

test('a preview that cannot be laid out in time is answered with its Markdown', async (t) => {
  const clock = new RenderClock()
  const api = await openTestServer(t, { pool: 'real', clock })
  const { ask, parts } = api
  const warned = t.mock.method(parts.log, 'warn')
  const ran = Promise.withResolvers<void>()
  const { render } = parts.pool!
  t.mock.method(parts.pool!, 'render', function (this: Pool, ...given: RenderArgs) {
    ran.resolve()
    return render.apply(this, given)
  })
  const preview = ask('POST', '/v1alpha/jobs/templates/preview', {
    body: { source: `# Mine\n\n{% for i in (1..10) %}${hostile(500_000)}{% endfor %}\n` },
    headers: { accept: 'text/html' },
  })
  await ran.promise
  const page = await pastItsLimit(api, clock, preview)
  assert.equal(page.status, 200)
  assert.match(warnings(warned), /The render took longer than 10 s/)
  assert.match(page.text, /could not be laid out/)
  assert.equal(page.headers.etag, undefined)
})

test('gives the tables as a workbook, and the one that is named as CSV', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await api.ask('POST', '/v1alpha/jobs', { body })).json()
  await api.ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const column = { name: 'a', type: 'integer', database_type: 'INTEGER' } as const
  const table = { columns: [column], rows: [[1]], total: 1 }
  const id = await api.complete(assignment_id, { tables: { one: table, two: { ...table, rows: [[2]] } } })
  const as = (accept: string, more = '') =>
    api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}${more}`, { headers: { accept } })
  const book = await as('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet')
  assert.match(book.text, /^PK/)
  assert.match(String(book.headers['content-disposition']), /^attachment; filename="hello-[\d-]+\.xlsx"$/)
  const csv = await as('text/csv', '&table=two')
  assert.deepEqual([csv.status, csv.text], [200, '\ufeffa\r\n2\r\n'])
  assert.notEqual(csv.headers.etag, (await as('text/csv', '&table=one')).headers.etag)
  for (const more of ['', '&table=three']) {
    const refused = await as('text/csv', more)
    assert.deepEqual(
      [refused.status, refused.json().errors],
      [422, [{ path: 'table', message: 'must be one of the tables: one, two' }]],
    )
  }
})

test('a PDF that cannot be set is refused for five minutes, and another form is named', async (t) => {
  const clock = new FakeClock()
  const api = await openTestServer(t, { pool: 'real', clock })
  const rendering = t.mock.method(api.parts.pool!, 'render', async () => {
    throw new TaskError('The render took longer than 40 s.', { isTooLarge: true })
  })
  const warned = t.mock.method(api.parts.log, 'warn')
  const id = await insightOf(api)
  const pdf = () =>
    api.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, { headers: { accept: 'application/pdf' } })
  const answer = await pdf()
  assert.deepEqual([answer.status, answer.json().code], [406, 'not_acceptable'])
  assert.match(answer.json().detail, /Ask for text\/html/)
  assert.match(warnings(warned), /longer than 40 s/)
  await pdf()
  assert.equal(rendering.mock.callCount(), 1)
  clock.advance(300_000)
  await pdf()
  assert.equal(rendering.mock.callCount(), 2)
})

test('a file that cannot be made is refused by its cause: too large, no free process, a stop, a fault, a silent store', async (t) => {
  const clock = new FakeClock()
  const api = await openTestServer(t, { pool: 'real', clock })
  const { pool, log } = api.parts
  t.mock.method(log, 'warn')
  t.mock.method(log, 'error')
  const ended = async (reason: Error) => {
    const ends = async () => {
      throw reason
    }
    t.mock.method(pool!, 'tables', ends)
    t.mock.method(pool!, 'render', ends)
    const answers = []
    for (const accept of ['text/csv', 'application/pdf']) {
      const { status, json } = await api.ask(
        'GET',
        `/v1alpha/jobs/result?insight_id=${await insightOf(api)}`,
        {
          headers: { accept },
        },
      )
      answers.push([status, json().code])
    }
    return answers
  }
  const twice = (status: number, code: string) => [
    [status, code],
    [status, code],
  ]
  const tooLarge = TaskError.of('tables', { kind: 'died', memory: true, detail: 'It had no memory left.' })
  assert.deepEqual(await ended(tooLarge), twice(406, 'not_acceptable'))
  assert.deepEqual(await ended(TaskError.of('tables', { kind: 'stopped' })), twice(503, 'stopping'))
  assert.deepEqual(
    await ended(TaskError.of('tables', { kind: 'fault', message: 'A font is gone.' })),
    twice(500, 'internal'),
  )
  const silent = new AppError('store_unavailable', 'The store did not answer.')
  assert.deepEqual(await ended(silent), twice(503, 'store_unavailable'))
  const waits = t.mock.method(
    pool!,
    'tables',
    (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(TaskError.of('tables', { kind: 'stopped' }))),
      ),
  )
  const answer = api.ask('GET', `/v1alpha/jobs/result?insight_id=${await insightOf(api)}`, {
    headers: { accept: 'text/csv' },
  })
  while (waits.mock.callCount() === 0) await new Promise(setImmediate)
  clock.advance(45_000)
  const { status, headers, json } = await answer
  assert.deepEqual([status, json().code, headers['retry-after']], [429, 'workspace_busy', '10'])
})

test('lists insights by their cards, and says which filter is wrong', async (t) => {
  const api = await openTestServer(t)
  const one = await insightOf(api)
  const list = (query: string) => api.ask('GET', `/v1alpha/insights?${query}`)
  const page = (await list('q=HELLO&limit=1')).json()
  const [card] = page.items
  assert.deepEqual(
    [page.items.length, page.next_cursor, card.insight_id, card.template_id],
    [1, null, one, 'hello'],
  )
  assert.deepEqual(
    [card.headline, card.grade, card.figure, card.history, card.tags],
    [null, null, null, [], []],
  )
  assert.deepEqual(validator(InsightCard)(card, '').faults, [])
  assert.deepEqual((await list('template_id=other')).json().items, [])
  for (const [query, path] of [
    ['grade=sure', 'grade'],
    ['q=', 'q'],
    ['cursor=x', 'cursor'],
  ]) {
    const answer = await list(query!)
    assert.deepEqual([answer.status, answer.json().errors[0].path], [422, path], query)
  }
})

test('offers the earlier runs of an insight to compare with, and knows no other insight', async (t) => {
  const api = await openTestServer(t)
  const run = async (start: string): Promise<string> => {
    const body = { payload: { type: 'template', template_id: 'hello' } }
    const assignment_id = (await api.ask('POST', '/v1alpha/jobs', { body })).json()
    await api.ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
    const period = { start, label: `the week of ${start}` }
    const card = { headline: null, grade: null, figure: null, period, tags: [], series: 's', search: '' }
    return api.complete(assignment_id, { card })
  }
  const first = await run('2001-06-11')
  const own = await run('2001-06-18')
  const answer = await api.ask('GET', `/v1alpha/insights/${own}/earlier`)
  const [one, ...others] = answer.json().items
  assert.deepEqual([answer.status, one.insight_id, one.steps, others], [200, first, ['before', 'week'], []])
  assert.equal(one.period, 'the week of 2001-06-11')
  assert.deepEqual(validator(EarlierInsight)(one, '').faults, [])
  assert.equal((await api.ask('GET', `/v1alpha/insights/${uuidv7()}/earlier`)).status, 404)
})
