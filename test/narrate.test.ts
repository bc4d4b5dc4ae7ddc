/** `{% narrate %}` through the whole service, with an endpoint that answers as a language model's does. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { createClient } from '@assay/client'
import { eventually, type Service, startService, temporaryFolder } from './service.ts'

const TOKEN = 'narrate-test-token'
const KEY = 'sk-the-models-own-key'
const TEMPLATE = `---
lineage: none
---

\`\`\`sql public
select 'north' as region, 42.5 as sales union all select 'south', 17 order by sales desc
\`\`\`

\`\`\`sql hidden
select 987654 as secret_number
\`\`\`

\`\`\`analysis spread
method: describe
of: public
value: sales
\`\`\`

# Sales

{{ hidden.size }} row is not told.

{% narrate [public, spread], ask: "What stands out?" %}

The end.
`

interface Asked {
  authorization: string | undefined
  body: { model: string; temperature: number; messages: { role: string; content: string }[] }
}
const asked: Asked[] = []
/** Questions that wait for their answer, now and at most. */
const underWay = { now: 0, most: 0 }
let answer: { status: number; text: string } | 'none' = { status: 200, text: '' }
const endpoint = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString()
  })
  request.on('end', () => {
    asked.push({ authorization: request.headers.authorization, body: JSON.parse(body) as Asked['body'] })
    if (answer === 'none') return
    underWay.now += 1
    underWay.most = Math.max(underWay.most, underWay.now)
    response.once('finish', () => (underWay.now -= 1))
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: answer.text } }] }))
  })
})

const { folder, remove } = temporaryFolder()
let service: Service
before(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  service = await startService({
    home: folder,
    wrapped: false,
    env: {
      ASSAY_TOKEN: TOKEN,
      ASSAY_NARRATE_URL: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`,
      ASSAY_NARRATE_MODEL: 'test-model',
      ASSAY_NARRATE_KEY: KEY,
    },
  })
})
after(async () => {
  service.signal('SIGTERM')
  await service.exited
  endpoint.close()
  remove()
})

async function run(source: string): Promise<{ markdown: string; lineage: Record<string, unknown> }> {
  const client = createClient({ url: service.url, token: TOKEN })
  await client.templates.put('told', source)
  const id = await client.jobs.create({ template_id: 'told' })
  await client.jobs.run(id)
  const job = await client.jobs.wait(id)
  assert.equal(job.job_status, 'completed', JSON.stringify(job.error))
  const { markdown, lineage } = await client.jobs.json(job.insight_id!)
  return { markdown, lineage }
}

test("a paragraph is marked as a model's, and one with a number that was not given is left out with a note", async () => {
  answer = {
    status: 200,
    text: 'The **north** sold 42.5, the south 17.\n\nTogether that is 59.5, or <b>71%</b> in the north.',
  }
  const { markdown, lineage } = await run(TEMPLATE)
  assert.equal(
    markdown,
    [
      '# Sales\n',
      '1 row is not told.\n',
      '> **Written by a language model** (test-model) from the numbers of `public`, `spread`:',
      '>',
      '> The \\*\\*north\\*\\* sold 42.5, the south 17.',
      '>',
      '> *Left out: 1 of 2 paragraphs, for numbers that were not given (59.5, 71%).*\n',
      'The end.\n',
    ].join('\n'),
  )
  const [narrative] = lineage.narratives as { blocks: string[]; model: string }[]
  assert.deepEqual([narrative!.blocks, narrative!.model], [['public', 'spread'], 'test-model'])
})

test('the model gets the numbers of the named blocks only, and the key goes to the endpoint alone', async () => {
  const [first] = asked
  assert.equal(first!.authorization, `Bearer ${KEY}`)
  const told = JSON.stringify(first!.body)
  assert.match(told, /42\.5/)
  assert.match(told, /What stands out\?/)
  assert.doesNotMatch(told, /987654|secret_number/)
  const settings = await createClient({ url: service.url, token: TOKEN }).settings()
  assert.ok(!JSON.stringify(settings).includes(KEY))
  assert.ok(!service.log().includes(KEY))
})

test('the same question is asked once: the same job gives the same bytes whatever the model would say now', async () => {
  const before = asked.length
  answer = { status: 200, text: 'Something else: 17.' }
  const { markdown } = await run(TEMPLATE)
  assert.match(markdown, /sold 42\.5, the south 17/)
  assert.equal(asked.length, before)
})

test('where the model does not answer the summary of the analysis stands in its place, and the job completes', async () => {
  answer = { status: 500, text: '' }
  const { markdown, lineage } = await run(TEMPLATE.replace('What stands out?', 'And now?'))
  assert.match(markdown, /public has 2 rows\. .*sales/)
  assert.match(markdown, /The language model gave no answer/)
  assert.equal(lineage.narratives, undefined)
})

test('a report asks at most 20 questions, and two of a workspace are under way at a time', async () => {
  answer = { status: 200, text: 'Nothing stands out.' }
  const asking = (count: number): string =>
    `\`\`\`sql one\nselect 1 as n\n\`\`\`\n\n# Many\n\n${Array.from({ length: count }, (_, index) => `{% narrate one, ask: "Question ${index}?" %}`).join('\n\n')}\n`
  const client = createClient({ url: service.url, token: TOKEN })
  const before = asked.length
  underWay.most = 0
  await Promise.all([
    client.templates.preview({ source: asking(20) }),
    client.templates.preview({ source: asking(20) }),
  ])
  assert.ok(asked.length - before >= 20)
  assert.ok(underWay.most <= 2, String(underWay.most))
  const asksBefore = asked.length
  await assert.rejects(
    client.templates.preview({ source: asking(21) }),
    /asks the language model at most 20 times/,
  )
  assert.equal(asked.length, asksBefore)
})

test('where the workspace may not ask, the report says so and shows the summary', async () => {
  const client = createClient({ url: service.url, token: TOKEN })
  const source = TEMPLATE.replace('What stands out?', 'May I?')
  const notAsked = async (): Promise<string> => {
    const before = asked.length
    const { markdown } = await client.templates.preview({ source })
    assert.equal(asked.length, before)
    assert.match(markdown, /public has 2 rows\./)
    return markdown
  }
  await client.outgoing.change({ model: false })
  assert.match(await notAsked(), /The language model was not asked\. This workspace may not ask/)
  const today = (await client.outgoing.read()).budgets.find(({ kind }) => kind === 'model')!.today
  assert.ok(today >= 20, String(today))
  await client.outgoing.change({ model: true, budgets: { model: today } })
  assert.match(await notAsked(), /budget of \d+ questions to the language model a day/)
  await client.outgoing.change({ budgets: { model: null } })
})

test('a model that never answers costs the job no more time than it has', async () => {
  answer = 'none'
  const template = TEMPLATE.replace('What stands out?', 'Anything?').replace(
    'lineage: none',
    'lineage: none\nlimits: { timeout: 6s }',
  )
  const { markdown } = await run(template)
  assert.match(markdown, /The language model gave no answer/)
  await eventually(() => /the language model gave no answer/.test(service.log()), 'the log says so')
})

test('without an endpoint the tag prints the summary, and a faulty tag is found before it runs', async (t) => {
  const home = temporaryFolder()
  const other = await startService({ home: home.folder, env: { ASSAY_TOKEN: TOKEN }, wrapped: false })
  t.after(async () => {
    other.signal('SIGTERM')
    await other.exited
    home.remove()
  })
  const client = createClient({ url: other.url, token: TOKEN })
  const { markdown } = await client.templates.preview({ source: TEMPLATE })
  assert.match(markdown, /public has 2 rows\. .*sales/)
  assert.doesNotMatch(markdown, /language model/)
  const { faults } = await client.templates.check('# X\n\n{% narrate nothing, ask: "?" %}\n\n{% narrate %}\n')
  assert.deepEqual(
    faults.map(({ code, line }) => [code, line]),
    [
      ['unknown_name', 3],
      ['liquid_syntax', 5],
    ],
  )
})
