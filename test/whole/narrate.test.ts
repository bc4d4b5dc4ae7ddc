/** Tests `{% narrate %}` through the whole service, with an endpoint that answers like a language model. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { createClient } from '@assay/client'
import {
  assay,
  cleanEnvironment,
  eventually,
  type Service,
  startService,
  temporaryFolder,
} from '../servers/service.ts'

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
/** The number of questions that wait for their answer: now, and the most at once. */
const underWay = { now: 0, most: 0 }
/** Answers that are given before `answer`. */
const queued: string[] = []
let answer: { status: number; text: string } | 'none' = { status: 200, text: '' }
const endpoint = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString()
  })
  request.on('end', () => {
    asked.push({ authorization: request.headers.authorization, body: JSON.parse(body) as Asked['body'] })
    const next = queued.shift()
    if (next === undefined && answer === 'none') return
    underWay.now += 1
    underWay.most = Math.max(underWay.most, underWay.now)
    response.once('finish', () => (underWay.now -= 1))
    const { status, text } =
      next === undefined ? (answer as Exclude<typeof answer, 'none'>) : { status: 200, text: next }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: text } }] }))
  })
})

const modelSettings = () => ({
  ASSAY_NARRATE_URL: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`,
  ASSAY_NARRATE_MODEL: 'test-model',
  ASSAY_NARRATE_KEY: KEY,
})
const { folder, remove } = temporaryFolder()
let service: Service
before(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
  service = await startService({
    home: folder,
    wrapped: false,
    env: { ASSAY_TOKEN: TOKEN, ...modelSettings() },
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
  const { markdown, lineage } = await client.jobs.json(job.insight_id)
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

/** Runs `assay draft` in a folder of its own, beside the endpoint, which runs in this process. */
function assayDraft(cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = cleanEnvironment({ ASSAY_HOME: cwd, ...modelSettings() })
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [assay, 'draft', FILE, '--ask', 'Does it rain more?'],
      { cwd, env },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

const FILE = 'sample/seattle-weather.csv'
const written = (method: string) => `Here it is:

\`\`\`\`markdown
---
title: Rain in Seattle
sources: { data: { file: uploads/../secrets.csv } }
deliver_if: "false"
---

\`\`\`sql monthly
select date_trunc('month', "date") as time, sum("precipitation") as value from data group by all order by all
\`\`\`

\`\`\`analysis direction
method: ${method}
of: monthly
time: time
value: value
\`\`\`

# Rain

{{ direction.summary }}
\`\`\`\`
`

test('a template that the model writes is asked for again with its faults, keeps the sources of the draft, and bears its mark', async () => {
  const client = createClient({ url: service.url, token: TOKEN })
  queued.push(written('trnd'), written('trend'))
  const before = asked.length
  const draft = await client.drafts.create({ file: FILE, ask: 'Does it rain more than before?' })
  assert.deepEqual([draft.asked?.written, draft.asked?.model, draft.asked?.tries], [true, 'test-model', 2])
  const prompts = asked.slice(before).map(({ body }) => body.messages.at(-1)!.content)
  assert.equal(prompts.length, 2)
  assert.match(prompts[0]!, /Does it rain more than before\?[\s\S]*"name":"precipitation"/)
  assert.match(prompts[1]!, /Its faults:\n- Line \d+, column \d+: .*trnd/)
  assert.match(draft.source, /^written_by: test-model$/m)
  assert.match(draft.source, /file: sample\/seattle-weather\.csv/)
  assert.doesNotMatch(draft.source, /secrets|deliver_if|Here it is|`{4}/)
  const { markdown, lineage } = await client.templates.preview({ source: draft.source })
  assert.match(
    markdown,
    /^# Rain\n\n> \*\*A language model \(test-model\) wrote the template of this report\.\*\*/,
  )
  assert.equal(lineage.written_by, 'test-model')
  const told = async () => (await client.audit({ action: 'template.draft' })).items[0]?.fields
  let fields: string[] | null | undefined
  await eventually(async () => {
    fields = await told()
    return fields !== undefined
  }, 'the audit trail has it')
  assert.deepEqual(fields, [`file:${FILE}`, 'language model'])
})

test('where the model gives no template that passes, or no answer, the draft by rules stands with a sentence', async () => {
  const client = createClient({ url: service.url, token: TOKEN })
  const byRules = await client.drafts.create({ file: FILE })
  assert.equal(byRules.asked, null)
  queued.push(written('a'), 'No template.', `---\ntitle: X\n---\n# X\n{% narrate data, ask: "?" %}\n`)
  const draft = await client.drafts.create({ file: FILE, ask: 'What else?' })
  assert.equal(draft.source, byRules.source)
  assert.deepEqual([draft.asked?.written, draft.asked?.tries], [false, 3])
  assert.match(
    draft.asked!.says,
    /in 3 tries: this is the draft by rules\. The last fault: Do not use the tags narrate/,
  )
  answer = { status: 500, text: '' }
  const none = await client.drafts.create({ file: FILE, ask: 'And what else?' })
  assert.deepEqual([none.source, none.asked?.model], [byRules.source, null])
})

test('assay draft --ask writes the template of the model', async () => {
  const home = temporaryFolder()
  queued.push(written('trend'))
  const { code, stdout, stderr } = await assayDraft(home.folder)
  assert.equal(code, 0, stderr)
  assert.match(stderr, /The language model test-model wrote this template\./)
  assert.match(stdout, /seattle_weather\.md/)
  assert.match(
    readFileSync(path.join(home.folder, 'seattle_weather.md'), 'utf8'),
    /^written_by: test-model$/m,
  )
  home.remove()
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
  await assert.rejects(client.drafts.create({ file: FILE, ask: '?' }), /ask: needs a language model/)
  const { faults } = await client.templates.check('# X\n\n{% narrate nothing, ask: "?" %}\n\n{% narrate %}\n')
  assert.deepEqual(
    faults.map(({ code, line }) => [code, line]),
    [
      ['unknown_name', 3],
      ['liquid_syntax', 5],
    ],
  )
})
