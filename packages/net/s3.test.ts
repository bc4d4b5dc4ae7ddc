import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { startBucket } from './bucket-fixture.ts'
import { createGuard } from './guard.ts'
import { BucketError, createBucket } from './s3.ts'
import { parseTargets } from './target.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-s3-'))
const server = await startBucket()
const guard = createGuard({ targets: parseTargets(['loopback']) })
const bucket = createBucket(server.config, guard)
after(async () => {
  await guard.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

async function write(key: string, content: string | Buffer): Promise<void> {
  const file = path.join(folder, 'content')
  writeFileSync(file, content)
  await bucket.write(key, file, Buffer.byteLength(content), { 'content-type': 'text/csv' })
}

test('what is written is listed and read, under whatever name', async () => {
  const keys = ["a b/Käufe (1)+'&=.csv", 'a b/100%.csv', 'a b/売上.csv', 'a b/</Key><Key>&amp;"x".csv']
  for (const key of keys) {
    await write(key, `of ${key}`)
    assert.equal(await text(await bucket.read(key)), `of ${key}`)
    assert.equal(await (await fetch(await bucket.presign(key, 60))).text(), `of ${key}`)
    assert.equal((await bucket.head(key))!.bytes, Buffer.byteLength(`of ${key}`))
  }
  const listed = await bucket.list('a b/', 10)
  assert.deepEqual(listed.map(({ key }) => key).toSorted(), keys.toSorted())
  assert.match(await text(await bucket.read('a b/100%.csv', { range: 'bytes=0-1' })), /^of$/)
  await bucket.remove('a b/100%.csv')
  assert.equal(await bucket.head('a b/100%.csv'), null)
  await assert.rejects(
    bucket.read('a b/100%.csv'),
    (error) => error instanceof BucketError && error.status === 404,
  )
})

test('a large file goes in parts and is the same afterwards', async () => {
  const content = Buffer.alloc(40_000_000)
  for (let at = 0; at < content.length; at += 1000) content.writeUInt32LE(at, at)
  await write('large.bin', content)
  const parts: Buffer[] = []
  for await (const part of await bucket.read('large.bin')) parts.push(part as Buffer)
  assert.ok(Buffer.concat(parts).equals(content))
})

/** The test server cannot divide a list into pages, so this server answers as the interface describes. */
test('a list that comes in pages comes whole, or as much of it as is asked for', async () => {
  const asked: (string | null)[] = []
  const pages = createServer((request, response) => {
    const token = new URL(request.url!, 'http://x').searchParams.get('continuation-token')
    asked.push(token)
    const at = Number(token ?? 0)
    const keys = [0, 1, 2].map((index) => `a &amp; b/${at * 3 + index}`)
    const contents = keys.map(
      (key) =>
        `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&#39;&quot;</ETag><Size>7</Size></Contents>`,
    )
    const next =
      at < 3 ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${at + 1}</NextContinuationToken>` : ''
    response.end(`<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`)
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = pages.address() as AddressInfo
    const paged = createBucket({ ...server.config, endpoint: `http://127.0.0.1:${port}` }, guard)
    const all = await paged.list('a', 10_000)
    assert.equal(all.length, 12)
    assert.deepEqual(all[11], {
      key: 'a & b/11',
      bytes: 7,
      etag: `"e'"`,
      updated_at: '2026-01-01T00:00:00.000Z',
    })
    assert.deepEqual(asked, [null, '1', '2', '3'])
    assert.equal((await paged.list('a', 4)).length, 4)
  } finally {
    pages.closeAllConnections()
    pages.close()
  }
})

/**
 * The example is in Amazon's documentation: "Authenticating Requests: Using Query Parameters (AWS Signature Version
 * 4)".
 */
test('signs as the published example does', async () => {
  const config = {
    endpoint: 'https://s3.amazonaws.com',
    region: 'us-east-1',
    bucket: 'examplebucket',
    access_key: 'AKIAIOSFODNN7EXAMPLE',
    secret_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    path_style: false,
  }
  const example = createBucket(config, guard, () => new Date('2013-05-24T00:00:00.000Z'))
  const url = new URL(await example.presign('test.txt', 86_400))
  assert.equal(url.host, 'examplebucket.s3.amazonaws.com')
  assert.equal(
    url.searchParams.get('X-Amz-Signature'),
    'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  )
})

test('a key that is not known is refused, and no secret stands in the message', async () => {
  const other = createBucket(
    { ...server.config, access_key: 'nobody', secret_key: 'wrong-secret-key' },
    guard,
  )
  await assert.rejects(other.list('', 1), (error) => {
    assert.ok(error instanceof BucketError && error.status === 403)
    assert.doesNotMatch(`${error.message} ${error.stack}`, /wrong-secret-key/)
    return true
  })
})
