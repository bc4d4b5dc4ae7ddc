import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Returns the output of one process, with its own zone and language, over the same findings. */
async function output(environment: Record<string, string>, task: 'render' | 'draw'): Promise<string> {
  const file = path.join(import.meta.dirname, 'determinism-fixture.ts')
  const { stdout } = await run(process.execPath, [file, task], { env: { ...process.env, ...environment } })
  return stdout
}

test('the same bytes come out under any time zone and language', async () => {
  const [first, ...others] = await Promise.all([
    output({ TZ: 'UTC', LANG: 'C', LC_ALL: 'C' }, 'render'),
    output({ TZ: 'America/New_York', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' }, 'render'),
    output({ TZ: 'Pacific/Apia', LANG: 'ar_EG.UTF-8', LC_ALL: 'ar_EG.UTF-8' }, 'render'),
  ])
  assert.match(first, /## How this was computed/)
  for (const other of others) assert.equal(other, first)
})

test('charts are drawn with the same bytes, and only under UTC', async () => {
  const [first, second] = await Promise.all([
    output({ TZ: 'UTC', LANG: 'C' }, 'draw'),
    output({ TZ: 'UTC', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }, 'draw'),
  ])
  assert.match(first, /<svg/)
  assert.equal(second, first)
  await assert.rejects(output({ TZ: 'America/New_York' }, 'draw'), /TZ=UTC/)
})
