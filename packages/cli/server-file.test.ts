import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/servers/service.ts'
import { findServer, readServerFile, removeServerFile, writeServerFile } from './server-file.ts'

const SERVER = { url: 'http://0.0.0.0:8080', pid: process.pid, token: 'a-token' }

function setUp(): { home: string; environment: NodeJS.ProcessEnv; runtime: string; remove(): void } {
  const { folder, remove } = temporaryFolder()
  const home = path.join(folder, 'home')
  const runtime = path.join(folder, 'runtime')
  mkdirSync(home)
  mkdirSync(runtime)
  return { home, runtime: path.join(runtime, 'assay'), environment: { XDG_RUNTIME_DIR: runtime }, remove }
}

test('what the service writes is for its user alone, and is found by the home until it is removed', async () => {
  const { home, environment, runtime, remove } = setUp()
  try {
    const file = (await writeServerFile(home, SERVER, environment))!
    assert.equal(path.dirname(file), runtime)
    assert.deepEqual([statSync(file).mode & 0o777, statSync(runtime).mode & 0o777], [0o600, 0o700])
    assert.deepEqual(readServerFile(home, environment), { ...SERVER, url: 'http://127.0.0.1:8080' })
    const link = `${home}-link`
    symlinkSync(home, link)
    assert.equal(readServerFile(link, environment)?.token, SERVER.token)
    await removeServerFile(file)
    assert.equal(readServerFile(home, environment), null)
  } finally {
    remove()
  }
})

test('a file that others could have written counts for nothing', async () => {
  const { home, environment, runtime, remove } = setUp()
  try {
    const file = (await writeServerFile(home, SERVER, environment))!
    for (const target of [file, runtime]) {
      const mode = statSync(target).mode
      chmodSync(target, mode | 0o020)
      assert.equal(readServerFile(home, environment), null, target)
      chmodSync(target, mode)
    }
    assert.notEqual(readServerFile(home, environment), null)
  } finally {
    remove()
  }
})

test('a service that listens elsewhere is named with what to set, and is not asked', async () => {
  const { home, environment, remove } = setUp()
  try {
    await writeServerFile(home, { ...SERVER, url: 'http://192.0.2.1:8080' }, environment)
    await assert.rejects(findServer(home, environment), /set ASSAY_URL to that address, and ASSAY_TOKEN/)
  } finally {
    remove()
  }
})

test('the next service removes the files of those that were killed', async () => {
  const { home, environment, runtime, remove } = setUp()
  try {
    mkdirSync(runtime, { mode: 0o700 })
    const dead = path.join(runtime, 'dead.json')
    writeFileSync(dead, JSON.stringify({ ...SERVER, pid: 2 ** 30 }))
    await writeServerFile(home, SERVER, environment)
    assert.equal(existsSync(dead), false)
    assert.equal(readdirSync(runtime).length, 1)
  } finally {
    remove()
  }
})
