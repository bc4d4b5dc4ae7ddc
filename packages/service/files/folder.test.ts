import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import type { Conditions } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import type { Files } from './files.ts'
import { openFiles } from './open.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-files-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const ANY: Conditions = { match: null, noneMatch: null }
let homes = 0

async function newFiles(quota = 1000): Promise<{ files: Files; home: string }> {
  homes += 1
  const home = path.join(folder, String(homes))
  return { files: await openFiles({ files: null, home, maxFile: 1000, filesQuota: quota }), home }
}

let staged = 0

async function put(files: Files, file: string, content: string, conditions = ANY, workspace = 'default') {
  staged += 1
  const own = `${staged}.csv`
  const name = path.join(await files.staging(), own)
  writeFileSync(name, content)
  return files.put(
    workspace,
    file,
    { file: name, bytes: content.length, sha256: '' },
    conditions,
    files.limits,
  )
}

async function content(files: Files, file: string, workspace = 'default'): Promise<string | null> {
  const opened = await files.open(workspace, file)
  return opened && text(await opened.read(null))
}

const refuses = (work: Promise<unknown>, code: string) =>
  assert.rejects(work, (error) => error instanceof AppError && error.code === code)

test('of many that put one path at once each is whole, and the last one stays', async () => {
  const { files } = await newFiles()
  const sizes = Array.from({ length: 30 }, (_, index) => index + 1)
  const seen = new Set<string>()
  const done = new AbortController()
  const reader = (async () => {
    while (!done.signal.aborted) seen.add((await content(files, 'a/b.csv')) ?? '')
  })()
  const etags = await Promise.all(
    sizes.map(async (size) => (await put(files, 'a/b.csv', 'x'.repeat(size))).file.etag),
  ).finally(() => done.abort())
  await reader
  assert.equal(new Set(etags).size, sizes.length, 'each has an ETag of its own')
  for (const one of seen) assert.match(one, /^x*$/)
  const found = await files.find('default', 'a/b.csv')
  assert.ok(etags.includes(found!.etag))
  assert.equal((await content(files, 'a/b.csv'))?.length, found!.bytes)
  assert.deepEqual(readdirSync(await files.staging()), [])
})

test('of many that create one path at once one does, and of many that replace one content one does', async () => {
  const { files } = await newFiles()
  const create = { match: null, noneMatch: '*' }
  const created = await Promise.allSettled(Array.from({ length: 10 }, () => put(files, 'a.csv', 'x', create)))
  assert.equal(created.filter(({ status }) => status === 'fulfilled').length, 1)
  const { etag } = (await files.find('default', 'a.csv'))!
  const replace = { match: etag, noneMatch: null }
  const replaced = await Promise.allSettled(
    Array.from({ length: 10 }, () => put(files, 'a.csv', 'y', replace)),
  )
  assert.equal(replaced.filter(({ status }) => status === 'fulfilled').length, 1)
  await refuses(files.remove('default', 'a.csv', replace), 'precondition_failed')
  await refuses(put(files, 'none.csv', 'y', { match: '*', noneMatch: null }), 'precondition_failed')
})

test('two nodes that share the folder never both create a path', async () => {
  const { files, home } = await newFiles()
  const other = await openFiles({
    files: path.join(home, 'files'),
    home: path.join(home, 'other'),
    maxFile: 1000,
    filesQuota: 1000,
  })
  // Both nodes run in one process, so the second would take the first one's folder for that of its predecessor. Each
  // makes its folder here.
  for (const node of [files, other]) await node.staging()
  for (let round = 0; round < 10; round += 1) {
    const create = { match: null, noneMatch: '*' }
    const both = await Promise.allSettled(
      [files, other].map((node) => put(node, `${round}.csv`, 'x', create)),
    )
    assert.equal(both.filter(({ status }) => status === 'fulfilled').length, 1)
  }
})

test('a workspace has no more than its quota, whatever comes at once, and what is replaced does not count twice', async () => {
  const { files } = await newFiles(100)
  const puts = Array.from({ length: 20 }, (_, index) => put(files, `${index}.csv`, 'x'.repeat(10)))
  const outcomes = await Promise.allSettled(puts)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10)
  await put(files, (await files.list('default'))[0]!.path, 'y'.repeat(10))
  await put(files, 'a.csv', 'x'.repeat(100), ANY, 'other')
  await refuses(put(files, 'more.csv', 'x'), 'quota_exceeded')
})

test('what is read is one content to its end, although it is replaced and deleted meanwhile', async () => {
  const { files } = await newFiles()
  await put(files, 'a.csv', 'before')
  const opened = (await files.open('default', 'a.csv'))!
  await put(files, 'a.csv', 'after')
  await files.remove('default', 'a.csv', ANY)
  assert.equal(await text(await opened.read(null)), 'before')
  assert.equal(await files.find('default', 'a.csv'), null)
})

test('a deleted file takes the folders with it that are empty then', async () => {
  const { files, home } = await newFiles()
  await put(files, 'a/b/c.csv', 'x')
  await put(files, 'a/d.csv', 'x')
  assert.equal(await files.remove('default', 'a/b/c.csv', ANY), true)
  assert.deepEqual(readdirSync(path.join(home, 'files/default/a')), ['d.csv'])
  assert.equal(await files.remove('default', 'a/b/c.csv', ANY), false)
})

test('a file and a folder never take each other’s name', async () => {
  const { files } = await newFiles()
  await put(files, 'a.csv', 'x')
  await put(files, 'b.csv/c.csv', 'x')
  await refuses(put(files, 'a.csv/b.csv', 'x'), 'conflict')
  await refuses(put(files, 'b.csv', 'x'), 'conflict')
  await refuses(put(files, 'b.csv', 'x', { match: null, noneMatch: '*' }), 'conflict')
  assert.deepEqual(readdirSync(await files.staging()).length, 3, 'the caller clears up what it staged')
})

test('two paths never differ in capitals alone, and each is replaced by its own', async () => {
  const { files } = await newFiles()
  await put(files, 'Sales/a.csv', '1')
  await refuses(put(files, 'Sales/A.csv', '2'), 'conflict')
  await refuses(put(files, 'sales/b.csv', '2'), 'conflict')
  await put(files, 'Sales/a.csv', '3')
  assert.equal(await content(files, 'Sales/a.csv'), '3')
})

test('links lead nowhere: they are not listed, read, replaced or written through', async () => {
  const { files, home } = await newFiles()
  await put(files, 'a.csv', 'x')
  const outside = path.join(home, 'outside')
  mkdirSync(outside)
  writeFileSync(path.join(outside, 'secret.csv'), 'secret')
  const root = path.join(home, 'files/default')
  symlinkSync(outside, path.join(root, 'out'))
  symlinkSync(path.join(outside, 'secret.csv'), path.join(root, 'link.csv'))
  assert.deepEqual(
    (await files.list('default')).map(({ path: name }) => name),
    ['a.csv'],
  )
  assert.equal(await files.find('default', 'link.csv'), null)
  await refuses(files.find('default', 'out/secret.csv'), 'conflict')
  await refuses(put(files, 'out/new.csv', 'x'), 'conflict')
  await put(files, 'link.csv', 'mine')
  assert.equal(readFileSync(path.join(outside, 'secret.csv'), 'utf8'), 'secret')
  assert.deepEqual(readdirSync(outside), ['secret.csv'])
})

test('what a killed process was taking in goes at the next start, what another machine takes in stays for a day', async () => {
  const { files, home } = await newFiles()
  const incoming = path.join(home, 'files/.incoming')
  const dead = spawnSync(process.execPath, ['-e', '0']).pid
  const names = [`${hostname()}-${dead}-a`, 'elsewhere-1-b', 'gone-1-c']
  for (const name of names) {
    mkdirSync(path.join(incoming, name), { recursive: true })
    writeFileSync(path.join(incoming, name, 'half.csv'), 'x')
  }
  const old = (Date.now() - 90_000_000) / 1000
  utimesSync(path.join(incoming, 'gone-1-c'), old, old)
  const own = await files.staging()
  assert.deepEqual(new Set(readdirSync(incoming)), new Set(['elsewhere-1-b', path.basename(own)]))
  assert.deepEqual(await files.list('default'), [])
  await files.close()
  assert.ok(!existsSync(own))
})

test('a purged workspace has no file, and the others have theirs', async () => {
  const { files } = await newFiles()
  await put(files, 'a.csv', 'x')
  await put(files, 'a.csv', 'x', ANY, 'other')
  await files.purge('default')
  assert.deepEqual(await files.list('default'), [])
  assert.equal((await files.list('other')).length, 1)
})
