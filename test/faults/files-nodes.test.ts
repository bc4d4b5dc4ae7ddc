/**
 * Tests uploads on several nodes. Other nodes read, change and run jobs over what one has received, from a shared
 * folder and from a bucket.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Client, createClient } from '@assay/client'
import { startBucket, type TestBucket } from '../../packages/net/bucket-fixture.ts'
import { missingPostgres, type Postgres, startPostgres } from '../servers/postgres.ts'
import { type Service, startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'assay-files-nodes-token'
const missing = await missingPostgres()

const TEMPLATE = `---
sources:
  t: { file: "uploads/*.csv" }
---
\`\`\`sql total
select sum(n) as n from t
\`\`\`
Sum {{ total | first: "n" }}.
`

async function jobOn(client: Client): Promise<string> {
  const id = await client.jobs.create({ template_id: 'sums' })
  await client.jobs.run(id)
  const { insight_id, error } = await client.jobs.wait(id)
  assert.equal(error, null)
  return client.jobs.markdown(insight_id)
}

suite('uploads on nodes that share a database', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let bucket: TestBucket
  const shared = temporaryFolder()
  before(async () => {
    postgres = await startPostgres()
    bucket = await startBucket()
  })
  after(async () => {
    await postgres?.stop()
    await bucket?.close()
    shared.remove()
  })

  const PLACES: Record<string, () => Record<string, string>> = {
    'a shared folder': () => ({ ASSAY_FILES: shared.folder }),
    'a bucket': () => ({
      ASSAY_FILES: `s3://${bucket.config.bucket}/uploads`,
      ASSAY_FILES_ENDPOINT: bucket.config.endpoint!,
      ASSAY_FILES_ACCESS_KEY: bucket.config.access_key!,
      ASSAY_FILES_SECRET_KEY: bucket.config.secret_key!,
    }),
  }

  for (const [place, settings] of Object.entries(PLACES))
    test(`in ${place} what one node took in the other reads, replaces, runs jobs over and deletes`, async () => {
      const database = `assay_files_${place.split(' ').at(-1)}_${process.pid}`
      const env = {
        ASSAY_STORE: await postgres.createDatabase(database),
        ASSAY_TOKEN: TOKEN,
        ASSAY_SECRET_KEY: '7'.repeat(64),
        ...settings(),
      }
      const homes = [temporaryFolder(), temporaryFolder()] as const
      const nodes: Service[] = []
      try {
        for (const { folder: home } of homes) nodes.push(await startService({ home, env, wrapped: false }))
        const [one, other] = nodes.map(({ url }) => createClient({ url, token: TOKEN })) as [Client, Client]
        await one.templates.put('sums', TEMPLATE)
        const { etag } = await one.files.put('a.csv', 'n\n3\n5\n')
        assert.deepEqual(
          (await other.files.list()).items.map((file) => [file.path, file.etag]),
          [['a.csv', etag]],
        )
        await other.files.put('b.csv', 'n\n4\n')
        for (const client of [one, other]) assert.match(await jobOn(client), /Sum 12\./)
        await other.files.put('a.csv', 'n\n1\n')
        await one.files.delete('b.csv')
        for (const client of [one, other]) assert.match(await jobOn(client), /Sum 1\./)
        await one.workspaces.change('default', { max_files_bytes: 6 })
        await assert.rejects(other.files.put('c.csv', 'n\n1\n'), { code: 'quota_exceeded' })
      } finally {
        for (const node of nodes) node.signal('SIGTERM')
        await Promise.all(nodes.map(({ exited }) => exited))
        for (const { remove } of homes) remove()
        await postgres.dropDatabase(database)
      }
    })
})
