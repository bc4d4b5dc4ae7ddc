/** Runs the commands of docs/deploying.md that copy and restore a PostgreSQL database, as they are. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { createClient } from '@assay/client'
import { Client } from 'pg'
import { runShell, shellBlocks } from '../commands/shell-blocks.ts'
import { missingPostgres, type Postgres, startPostgres } from '../servers/postgres.ts'
import { startService, temporaryFolder } from '../servers/service.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
const KEY = 'ab'.repeat(32)
const TOKEN = 'assay-backup-test-token'
const [from, to] = [`backup_from_${process.pid}`, `backup_to_${process.pid}`]
const missing = await missingPostgres()
/** The major version of the programs; 0 if there are none. */
const tool = Number(
  /(\d+)/.exec(spawnSync('pg_dump', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1] ?? 0,
)

suite('backup and restore of PostgreSQL', {
  skip: missing ?? (tool === 0 ? 'no pg_dump here' : false),
}, () => {
  let postgres: Postgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(async () => {
    await postgres.dropDatabase(from).catch(() => undefined)
    await postgres.dropDatabase(to).catch(() => undefined)
    await postgres.stop()
  })

  test('a dump that is made while the service runs becomes a service that goes on', async (context) => {
    const store = await postgres.createDatabase(from)
    const restored = await postgres.createDatabase(to)
    const client = new Client(store)
    await client.connect()
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num')
    await client.end()
    const server = Math.floor(Number(rows[0]!.server_version_num) / 10_000)
    if (tool < server) {
      context.skip(`pg_dump ${tool} does not copy PostgreSQL ${server}`)
      return
    }
    const { folder, remove } = temporaryFolder()
    const env = { ASSAY_STORE: store, ASSAY_SECRET_KEY: KEY, ASSAY_TOKEN: TOKEN }
    const service = await startService({ home: folder, env, wrapped: false })
    const first = createClient({ url: service.url, token: TOKEN })
    const id = await first.jobs.create({ template_id: 'nile-flow' })
    await first.jobs.run(id)
    const job = await first.jobs.wait(id)
    const markdown = await first.jobs.markdown(job.insight_id!)
    const block = shellBlocks(path.join(root, 'docs/deploying.md')).find(({ script }) =>
      script.includes('pg_dump'),
    )
    const { code, output } = await runShell([block!.script.replaceAll('node bin/', `node ${root}/bin/`)], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        ASSAY_HOME: folder,
        ASSAY_STORE: store,
        RESTORED_STORE: restored,
        ASSAY_SECRET_KEY: KEY,
      },
    })
    assert.equal(code, 0, output)
    service.signal('SIGTERM')
    await service.exited

    const again = await startService({ home: folder, env: { ...env, ASSAY_STORE: restored }, wrapped: false })
    const second = createClient({ url: again.url, token: TOKEN })
    assert.equal((await second.jobs.status(id)).job_status, 'completed')
    assert.equal(await second.jobs.markdown(job.insight_id!), markdown)
    again.signal('SIGTERM')
    await again.exited
    remove()
  })
})
