/** Tests `assay move`: a home whose service was killed continues with all its data on PostgreSQL. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { type Client, createClient } from '@assay/client'
import { verify } from '@assay/model/signature'
import { resolveConfig } from '../../packages/service/config/config.ts'
import { openLocation } from '../../packages/service/recovery/locations.ts'
import { restore } from '../../packages/service/recovery/restore.ts'
import { verifyBackup } from '../../packages/service/recovery/verify.ts'
import { makeBackup } from '../../packages/service/recovery/write.ts'
import { missingPostgres, type Postgres, startPostgres } from '../servers/postgres.ts'
import { modes, type Receiver, startReceiver } from '../servers/receiver.ts'
import {
  assay,
  cleanEnvironment,
  eventually,
  type Service,
  startService,
  temporaryFolder,
} from '../servers/service.ts'

const DATABASE = `moved_${process.pid}`
const TOKEN = 'assay-move-test-token'
const missing = await missingPostgres()
// A template that takes seconds of processor time. On a busy machine it may take longer than the minute that a job
// has by default.
const SLOW = `---
limits: { timeout: 15m }
---
# Slow

\`\`\`sql pairs
select count(*) as n from range(20000) a, range(15000) b where (a.range * b.range) % 7 = 3
\`\`\`

{{ pairs | first: "n" }}
`

suite('assay move', { skip: missing ?? false }, () => {
  const { folder, remove } = temporaryFolder()
  let postgres: Postgres
  let receiver: Receiver
  let service: Service
  let client: Client
  let url: string

  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(DATABASE)
    receiver = await startReceiver({ mode: modes.ok() })
    service = await startService({ home: folder, env: { ASSAY_TOKEN: TOKEN }, wrapped: false })
    client = createClient({ url: service.url, token: TOKEN })
  })
  after(async () => {
    service.signal('SIGKILL')
    await service.exited
    await receiver.close()
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
    remove()
  })

  const move = (key: string) =>
    promisify(execFile)(process.execPath, [assay, 'move', url], {
      env: cleanEnvironment({ ASSAY_HOME: folder, ...(key ? { ASSAY_SECRET_KEY: key } : {}) }),
    }).then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      (error: { code: number; stderr: string }) => ({ code: error.code, said: error.stderr }),
    )
  const key = (): string => readFileSync(path.join(folder, 'secret.key'), 'utf8').trim()

  async function everything() {
    const all = async <T>(list: (cursor?: string) => Promise<{ items: T[]; next_cursor: string | null }>) => {
      const found: T[] = []
      let cursor: string | undefined
      do {
        const page = await list(cursor)
        found.push(...page.items)
        cursor = page.next_cursor ?? undefined
      } while (cursor)
      return found
    }
    const page = (cursor?: string) => ({ limit: 2, ...(cursor ? { cursor } : {}) })
    const jobs = await all((cursor) => client.jobs.list(page(cursor)))
    const insights = jobs.flatMap(({ insight_id }) => insight_id ?? [])
    const webhooks = await all((cursor) => client.webhooks.list(page(cursor)))
    return {
      jobs,
      insights: await Promise.all(insights.map((id) => client.jobs.json(id))),
      webhooks,
      deliveries: await Promise.all(
        webhooks.map(({ webhook_id }) =>
          all((cursor) => client.webhooks.deliveries(webhook_id, page(cursor))),
        ),
      ),
      events: await all((cursor) => client.events.list(page(cursor))),
      templates: await client.templates.list(),
      users: await all((cursor) => client.users.list(page(cursor))),
      // Each home's command line has a token of its own.
      tokens: (await all((cursor) => client.tokens.list(page(cursor))))
        .filter(({ name }) => !name.startsWith('command line'))
        .map((token) => ({ ...token, last_used_at: null })),
      // The service also spends processor time on itself after the question.
      workspaces: (await all((cursor) => client.workspaces.list(page(cursor)))).map((workspace) => ({
        ...workspace,
        processor_seconds: 0,
      })),
      schedules: await all((cursor) => client.schedules.list(page(cursor))),
      links: await Promise.all(insights.map((id) => client.links.list(id))),
    }
  }

  test('moves everything of a service that was killed at work, and it goes on', async () => {
    await client.workspaces.create({ workspace_id: 'team', name: 'Team' })
    await client.users.create({ username: 'ada', password: 'a long enough password', scopes: ['analyst'] })
    await client.templates.put('slow', SLOW)
    const { webhook_id, signing_secret } = await client.webhooks.create({
      url: receiver.url,
      user_id: 'u',
      presence_name: 'p',
      events: ['*'],
    })
    for (const template_id of ['penguins', 'nile-flow']) {
      const id = await client.jobs.create({ template_id, metadata: { n: template_id } })
      await client.jobs.run(id)
      const job = await client.jobs.wait(id)
      await client.links.create(job.insight_id!, { label: 'for Bob' })
    }
    await client.jobs.create({ template_id: 'penguins' })
    await client.schedules.create({ name: 'daily', template_id: 'penguins', cron: '0 6 * * *' })
    assert.match((await move(key())).said, /in use by process/)
    const unfinished = await client.jobs.create({ template_id: 'slow' })
    await client.jobs.run(unfinished)
    for await (const { job_status } of client.jobs.watch(unfinished)) if (job_status === 'executing') break
    service.signal('SIGKILL')
    await service.exited

    assert.match((await move('')).said, /ASSAY_SECRET_KEY.*secret\.key/)
    assert.match((await move('0'.repeat(64))).said, /does not open the secrets/)
    service = await startService({
      home: folder,
      env: { ASSAY_TOKEN: TOKEN, ASSAY_ROLES: 'api' },
      wrapped: false,
    })
    client = createClient({ url: service.url, token: TOKEN })
    const before = await everything()
    service.signal('SIGTERM')
    await service.exited

    const moved = await move(key())
    assert.equal(moved.code, 0, moved.said)
    assert.match(moved.said, /^jobs 4$/m)
    const again = await move(key())
    assert.match(again.said, /holds data already/)

    const env = { ASSAY_TOKEN: TOKEN, ASSAY_STORE: url, ASSAY_SECRET_KEY: key() }
    const elsewhere = temporaryFolder()
    service = await startService({
      home: elsewhere.folder,
      env: { ...env, ASSAY_ROLES: 'api' },
      wrapped: false,
    })
    client = createClient({ url: service.url, token: TOKEN })
    const found = await everything()
    for (const [kind, items] of Object.entries(before))
      assert.deepEqual(found[kind as keyof typeof found], items, kind)
    service.signal('SIGTERM')
    await service.exited

    service = await startService({
      home: elsewhere.folder,
      env: { ...env, ASSAY_WEBHOOK_TARGETS: 'public,loopback' },
      wrapped: false,
    })
    client = createClient({ url: service.url, token: TOKEN })
    const ended = await client.jobs.wait(unfinished)
    assert.deepEqual([ended.job_status, ended.error], ['completed', null])
    // On PostgreSQL an event can be read once nothing older is under way.
    await eventually(async () => {
      const [last] = (await client.events.list({ type: 'job.completed', limit: 1 })).items
      return last?.type === 'job.completed' && last.data.assignment_id === unfinished
    }, 'its event is read')
    assert.equal((await client.webhooks.test(webhook_id)).status_code, 200)
    const { headers, body } = receiver.arrivals.at(-1)!
    verify({ secret: signing_secret!, headers, body })
    elsewhere.remove()
  })

  test('a backup of PostgreSQL in use restores into SQLite and into another PostgreSQL, row by row', async () => {
    const copies = temporaryFolder()
    const location = openLocation(copies.folder, {
      endpoint: null,
      region: '',
      accessKey: null,
      secretKey: null,
    })
    const config = (home: string, store: string) =>
      resolveConfig({
        ASSAY_HOME: path.join(copies.folder, home),
        ASSAY_STORE: store,
        ASSAY_SECRET_KEY: key(),
      }).config
    const make = (from: ReturnType<typeof config>, now: Date) =>
      makeBackup({ config: from, location, now, withKey: false, recipient: null })
    // The node writes leases meanwhile. It must stop, so that two backups can be compared.
    service.signal('SIGTERM')
    await service.exited
    const { name, manifest } = await make(config('a', url), new Date(1))
    assert.ok(manifest.tables.jobs!.rows >= 4 && manifest.tables.deliveries!.rows > 0)
    await verifyBackup({ config: config('a', url), location, name, identities: [] })
    const again = await postgres.createDatabase(`${DATABASE}_again`)
    try {
      const to = config('b', again)
      await restore({ config: to, name, stream: await location.read(name), identities: [], key: null })
      assert.deepEqual((await make(to, new Date(2))).manifest.tables, manifest.tables)
      await assert.rejects(
        async () =>
          restore({
            config: config('c', again),
            name,
            stream: await location.read(name),
            identities: [],
            key: null,
          }),
        /holds data already/,
      )
    } finally {
      await postgres.dropDatabase(`${DATABASE}_again`)
      copies.remove()
    }
  })
})
