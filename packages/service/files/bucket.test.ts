import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import type { Conditions } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import { startBucket } from '../../net/bucket-fixture.ts'
import type { Files } from './files.ts'
import { openFiles } from './open.ts'

const home = mkdtempSync(path.join(tmpdir(), 'assay-bucket-files-'))
const server = await startBucket()
const open: Files[] = []
after(async () => {
  for (const files of open) await files.close()
  await server.close()
  rmSync(home, { recursive: true, force: true })
})

const ANY: Conditions = { match: null, noneMatch: null }
let made = 0

async function newFiles(quota = 1000): Promise<Files> {
  made += 1
  const { endpoint, access_key, secret_key } = server.config
  const files = await openFiles({
    files: `s3://assay/test-${made}/files`,
    filesEndpoint: endpoint,
    filesAccessKey: access_key,
    filesSecretKey: secret_key,
    home: path.join(home, String(made)),
    maxFile: 1000,
    filesQuota: quota,
  })
  open.push(files)
  return files
}

async function put(files: Files, file: string, content: string, conditions = ANY, workspace = 'default') {
  made += 1
  const own = `${made}.csv`
  const name = path.join(await files.staging(), own)
  writeFileSync(name, content)
  const staged = { file: name, bytes: Buffer.byteLength(content), sha256: '' }
  return files.put(workspace, file, staged, conditions, files.limits)
}

const refuses = (work: Promise<unknown>, code: string) =>
  assert.rejects(work, (error) => error instanceof AppError && error.code === code)

test('files in a bucket are put, listed, read in part, replaced and removed like those of a folder', async () => {
  const files = await newFiles()
  const { file, isNew } = await put(files, 'a b/ü.csv', 'x,y\n')
  assert.deepEqual([isNew, file.file, file.bytes], [true, 'uploads/a b/ü.csv', 4])
  assert.deepEqual(await files.list('default'), [file])
  const opened = (await files.open('default', 'a b/ü.csv'))!
  assert.equal(await text(await opened.read({ first: 1, last: 2 })), ',y')
  const again = await put(files, 'a b/ü.csv', 'x,z,z\n')
  assert.equal(again.isNew, false)
  assert.notEqual(again.file.etag, file.etag)
  assert.equal(await files.remove('default', 'a b/ü.csv', ANY), true)
  assert.equal(await files.remove('default', 'a b/ü.csv', ANY), false)
  assert.equal(await files.find('default', 'a b/ü.csv'), null)
})

test('conditions and the quota hold for a bucket, too', async () => {
  const files = await newFiles(100)
  const create = { match: null, noneMatch: '*' }
  const created = await Promise.allSettled(
    Array.from({ length: 5 }, (_, at) => put(files, 'a.csv', `${at}`, create)),
  )
  assert.equal(created.filter(({ status }) => status === 'fulfilled').length, 1)
  await refuses(put(files, 'a.csv', 'y', { match: '"other"', noneMatch: null }), 'precondition_failed')
  const { etag } = (await files.find('default', 'a.csv'))!
  await put(files, 'a.csv', 'other', { match: etag, noneMatch: null })
  await refuses(files.remove('default', 'a.csv', { match: etag, noneMatch: null }), 'precondition_failed')
  await refuses(put(files, 'b.csv', 'x'.repeat(96)), 'quota_exceeded')
  await put(files, 'b.csv', 'x'.repeat(96), ANY, 'other')
  await files.purge('default')
  assert.deepEqual(await files.list('default'), [])
  assert.equal((await files.list('other')).length, 1)
})

test('a job is given an address for each of its own files, and no key', async () => {
  const files = await newFiles()
  await put(files, 'a.csv', 'x\n1\n')
  await put(files, 'b.csv', 'x\n1\n', ANY, 'other')
  const { uploads } = await files.roots('default', true)
  assert.deepEqual(
    uploads.offered.map((one) => one.path),
    ['a.csv'],
  )
  assert.equal(await (await fetch(uploads.offered[0]!.url)).text(), 'x\n1\n')
  assert.deepEqual((await files.roots('default', false)).uploads.offered, [])
})

test('a bucket that cannot be reached is told of, and stops no job that names no upload', async () => {
  const files = await openFiles({
    files: 's3://assay',
    filesEndpoint: 'http://127.0.0.1:9',
    home: path.join(home, 'away'),
    maxFile: 1000,
    filesQuota: 1000,
  })
  open.push(files)
  await refuses(files.list('default'), 'store_unavailable')
  assert.match((await files.roots('default', true)).uploads.fault!, /cannot be reached/)
  assert.equal((await files.roots('default', false)).uploads.fault, undefined)
  assert.ok(!readdirSync(home).includes('away'), 'nothing is made before it is needed')
})
