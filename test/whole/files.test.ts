/**
 * Tests uploads from outside: what a kill -9 within one leaves, and that a worker, the API and `assay run` read the
 * same files.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { after, test } from 'node:test'
import { createClient } from '@assay/client'
import {
  assay,
  cleanEnvironment,
  eventually,
  isAlive,
  startService,
  temporaryFolder,
} from '../servers/service.ts'

const TOKEN = 'files-test-token-0123456789'
const { folder: home, remove } = temporaryFolder()
after(remove)

const TEMPLATE = `---
sources:
  t: { file: uploads/days.csv }
---
\`\`\`sql total
select sum(n) as n from t
\`\`\`
Sum {{ total | first: "n" }}.
`

function incoming(): string[] {
  return readdirSync(path.join(home, 'files/.incoming'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.csv'))
}

test('a service that is killed in the middle of an upload leaves nothing of it, and what was put before is read by all', async () => {
  const first = await startService({ home, env: { ASSAY_TOKEN: TOKEN }, wrapped: false })
  const client = createClient({ url: first.url, token: TOKEN })
  await client.files.put('days.csv', 'day,n\n1,3\n2,5\n')
  const { hostname, port } = new URL(first.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(
    `PUT /v1alpha/files/days.csv HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 99999\r\n\r\nday,n\n1,1000\n`,
  )
  await eventually(() => incoming().length === 1, 'the upload has begun')
  first.signal('SIGKILL')
  await first.exited
  await eventually(() => !isAlive(first.server), 'it is gone')

  const second = await startService({ home, env: { ASSAY_TOKEN: TOKEN }, wrapped: false })
  try {
    const again = createClient({ url: second.url, token: TOKEN })
    const { items } = await again.files.list()
    assert.deepEqual(
      items.map(({ path: name, bytes }) => [name, bytes]),
      [['days.csv', 14]],
    )
    await again.files.put('other.csv', 'a\nx\n')
    assert.deepEqual(incoming(), [], 'what was left is cleared up')
    await again.templates.put('days', TEMPLATE)
    const job = await again.jobs.create({ template_id: 'days' })
    await again.jobs.run(job)
    const { insight_id } = await again.jobs.wait(job)
    assert.match(await again.jobs.markdown(insight_id!), /Sum 8\./)
    const file = path.join(home, 'days.md')
    writeFileSync(file, TEMPLATE)
    const local = spawnSync(process.execPath, [assay, 'run', file], {
      env: cleanEnvironment({ ASSAY_HOME: home }),
      encoding: 'utf8',
    })
    assert.match(local.stdout, /Sum 8\./, local.stderr)
  } finally {
    second.signal('SIGTERM')
    await second.exited
  }
})
