import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { homeKeys, workFolder } from './home.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-home-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function newHome(name: string): string {
  const home = path.join(folder, name)
  mkdirSync(home)
  return home
}

test('the key is made once, for its owner only, and whole for all that start at once', async () => {
  const home = newHome('key')
  const [made, ...others] = await Promise.all([homeKeys(home), homeKeys(home), homeKeys(home)])
  for (const other of others) assert.deepEqual(other, made)
  const [first] = made
  assert.equal(first!.length, 32)
  const file = path.join(home, 'secret.key')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(readFileSync(file, 'utf8'), `${first!.toString('hex')}\n`)
  assert.deepEqual(readdirSync(home), ['secret.key'], 'no draft is left')
})

test('a key file that holds anything else is refused, not replaced', async () => {
  const home = newHome('broken')
  writeFileSync(path.join(home, 'secret.key'), 'abc')
  await assert.rejects(homeKeys(home), /64 hex digits/)
  assert.equal(readFileSync(path.join(home, 'secret.key'), 'utf8'), 'abc')
})

test('the work folder of a process that died goes, that of a living or distant one stays', async () => {
  const home = newHome('work')
  const root = path.join(home, 'tmp')
  const dead = spawnSync(process.execPath, ['-e', '0']).pid
  const names = [
    `${hostname()}-${dead}-abcdef`,
    `${hostname()}-${process.pid}-abcdef`,
    `${hostname()}-${process.ppid}-abcdef`,
    `elsewhere-${dead}-abcdef`,
  ]
  for (const name of names) mkdirSync(path.join(root, name, 'spilled'), { recursive: true })
  const own = await workFolder(root)
  assert.ok(existsSync(own))
  assert.deepEqual(new Set(readdirSync(root)), new Set([names[2], names[3], path.basename(own)]))
})
