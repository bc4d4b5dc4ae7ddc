/** Agents, by the official client of the Model Context Protocol, over HTTP and over standard input and output. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createClient } from '@assay/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { assay, cleanEnvironment, type Service, startService, temporaryFolder } from './service.ts'

const TOKEN = 'agents-test-token'
let service: Service
const { folder, remove } = temporaryFolder()

before(async () => {
  service = await startService({ home: folder, env: { ASSAY_TOKEN: TOKEN }, wrapped: false })
})
after(async () => {
  service.signal('SIGTERM')
  await service.exited
  remove()
})

async function overHttp(token: string, mode: 'legacy' | 'auto' = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  return client
}

function textOf(result: unknown): string {
  const [first] = (result as { content: { type: string; text: string }[] }).content
  return first!.text
}

test('an agent sees each template as a tool, runs one and reads its insight', async () => {
  const agent = await overHttp(TOKEN)
  const { tools } = await agent.listTools()
  const templates = await createClient({ url: service.url, token: TOKEN }).templates.list()
  for (const { template_id } of templates) assert.ok(tools.some(({ name }) => name === template_id))
  const nile = tools.find(({ name }) => name === 'penguins')!
  assert.equal(nile.inputSchema.type, 'object')
  const delays = tools.find(({ name }) => name === 'flight-delays')!
  const { properties = {} } = delays.inputSchema as { properties?: Record<string, { pattern?: string }> }
  assert.equal(properties.origin?.pattern, '^[A-Z]{3}$')

  const result = await agent.callTool({ name: 'penguins', arguments: {} })
  assert.match(textOf(result), /^# .*\n/)
  assert.doesNotMatch(textOf(result), /```mermaid/)
  const { resources } = await agent.listResources()
  const { contents } = await agent.readResource({ uri: resources[0]!.uri })
  assert.equal((contents[0] as { text: string }).text, textOf(result))
  await agent.close()
})

test('what an agent gives wrongly comes back as faults that it can mend, and unknown tools too', async () => {
  const agent = await overHttp(TOKEN)
  const wrong = await agent.callTool({ name: 'flight-delays', arguments: { origin: 'nowhere', tops: 3 } })
  assert.equal(wrong.isError, true)
  assert.match(textOf(wrong), /tops/)
  assert.match(textOf(wrong), /origin/)
  const unknown = await agent.callTool({ name: 'no-such-template', arguments: {} })
  assert.equal(unknown.isError, true)
  await agent.close()
})

test("an agent's token is judged as every other: none, one that only reads, one of another workspace", async () => {
  await assert.rejects(overHttp('no-such-token'))
  const admin = createClient({ url: service.url, token: TOKEN })
  const reader = await admin.tokens.create({ name: 'reader', scopes: ['viewer'] })
  const agent = await overHttp(reader.token)
  const refused = await agent.callTool({ name: 'penguins', arguments: {} })
  assert.equal(refused.isError, true)
  assert.match(textOf(refused), /analyst/)
  const metrics = textOf(await agent.callTool({ name: 'assay_metrics', arguments: { q: 'late' } }))
  assert.match(metrics, /^- late_flights: the share of late flights; .*; by origin$/)
  assert.match(textOf(await agent.callTool({ name: 'assay_jobs', arguments: {} })), /penguins, completed/)
  await agent.close()

  await admin.workspaces.create({ workspace_id: 'elsewhere', name: 'Elsewhere' })
  const stranger = await admin.tokens.create({ name: 's', scopes: ['admin'], workspace_id: 'elsewhere' })
  const other = await overHttp(stranger.token)
  assert.match(textOf(await other.callTool({ name: 'assay_jobs', arguments: {} })), /no such jobs/)
  await other.close()
})

test('over standard input and output it runs jobs itself where no service runs', async () => {
  const home = temporaryFolder()
  const agent = new Client({ name: 'test', version: '1' })
  const environment = cleanEnvironment({ ASSAY_HOME: home.folder }) as Record<string, string>
  await agent.connect(
    new StdioClientTransport({ command: process.execPath, args: [assay, 'mcp'], env: environment }),
  )
  const percents: number[] = []
  const result = await agent.callTool(
    { name: 'nile-flow', arguments: {} },
    { onprogress: ({ progress }) => percents.push(progress) },
  )
  assert.match(textOf(result), /^# /)
  assert.ok(percents.every((percent) => percent >= 0 && percent <= 100))
  await agent.close()
  home.remove()
})

test('a call that the agent gives up ends the job that it began', async () => {
  const admin = createClient({ url: service.url, token: TOKEN })
  const endless =
    '# Endless\n\n```sql numbers\nselect count(*) as n from range(3000000) a, range(3000000) b\n```\n\n{{ numbers.size }}\n'
  await admin.templates.put('endless', endless)
  const agent = await overHttp(TOKEN, 'auto')
  const given = new AbortController()
  const call = agent.callTool({ name: 'endless', arguments: {} }, { signal: given.signal })
  const running = async () =>
    (await admin.jobs.list({ template_id: 'endless', job_status: 'executing' })).items[0]?.assignment_id
  let id: string | undefined
  while (id === undefined) id = await running()
  given.abort()
  await assert.rejects(call)
  const job = await admin.jobs.wait(id)
  assert.equal(job.error?.code, 'canceled_by_user')
  await agent.close()
})
