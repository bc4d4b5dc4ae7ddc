import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chart } from '../insight.ts'
import { chartPlaceholder, InsightView } from '../insight.ts'
import { makeChart } from '../templates/chart-spec.ts'
import { type Harness, openHarness } from './harness.ts'
import { validator } from './validate.ts'

const CHART = makeChart(
  'c1',
  [
    { day: 'Mon', delay: 1 },
    { day: 'Tue', delay: 3 },
  ],
  { type: 'bar', x: 'day', y: ['delay'], series: null, title: 'Mean delay' },
)

async function insightOf({ ask, complete }: Harness, charts: Chart[] = []): Promise<string> {
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const markdown = `# Hello\n\n${charts.map((chart) => `${chartPlaceholder(chart.id)}\n`).join('\n')}`
  return complete(assignment_id, { charts, markdown })
}

test('gives an insight as Markdown, as a page or as JSON, by what the client accepts', async (t) => {
  const harness = await openHarness(t)
  const id = await insightOf(harness)
  const as = (accept: string) =>
    harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, { headers: { accept } })
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
  const refused = await as('image/png')
  assert.equal(refused.status, 406)
  assert.equal(refused.json().code, 'not_acceptable')
})

test('tags each form, and sends none that the client has', async (t) => {
  const harness = await openHarness(t)
  const id = await insightOf(harness)
  const url = `/v1alpha/jobs/result?insight_id=${id}`
  const tags = new Set<string>()
  for (const [accept, charts] of [
    ['text/markdown', ''],
    ['text/markdown', '&charts=text'],
    ['text/html', ''],
    ['application/json', ''],
  ] as const) {
    const first = await harness.ask('GET', url + charts, { headers: { accept } })
    assert.equal(first.headers.vary, 'Accept')
    const tag = String(first.headers.etag)
    tags.add(tag)
    const again = await harness.ask('GET', url + charts, {
      headers: { accept, 'if-none-match': `"x", ${tag}` },
    })
    assert.equal(again.status, 304)
    assert.equal(again.text, '')
    assert.equal(again.headers.etag, tag)
  }
  assert.equal(tags.size, 4)
})

test('draws charts in the form that is asked for, and once', async (t) => {
  const harness = await openHarness(t, { pool: 'real' })
  const draw = t.mock.method(harness.parts.pool!, 'draw')
  const id = await insightOf(harness, [CHART])
  const charts = async (form: string): Promise<string> =>
    (await harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}&charts=${form}`)).text
  assert.match(await charts('mermaid'), /```mermaid/)
  assert.doesNotMatch(await charts('none'), /chart:c1|mermaid|svg/)
  assert.doesNotMatch(await charts('text'), /mermaid|chart:c1/)
  assert.equal(draw.mock.callCount(), 0)
  assert.match(await charts('image'), /!\[Mean delay\]\(data:image\/svg\+xml;base64,/)
  const page = await harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'text/html' },
  })
  assert.match(page.text, /<svg/)
  assert.ok(page.headers.etag)
  const json = await harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'application/json' },
  })
  assert.match(json.json().charts[0].svg, /^<svg/)
  assert.deepEqual(json.json().charts[0].spec, CHART.spec)
  assert.equal(draw.mock.callCount(), 1)
  assert.equal((await harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}&charts=pie`)).status, 422)
})

test('gives the charts as text while they cannot be drawn, and does not tag that', async (t) => {
  const harness = await openHarness(t)
  const id = await insightOf(harness, [CHART])
  const page = await harness.ask('GET', `/v1alpha/jobs/result?insight_id=${id}`, {
    headers: { accept: 'text/html' },
  })
  assert.equal(page.status, 200)
  assert.doesNotMatch(page.text, /<svg/)
  assert.equal(page.headers.etag, undefined)
})
