/** Runs the Python client's own tests beside a running service. They are skipped with a notice without Python. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { test } from 'node:test'
import { startService, temporaryFolder } from '../servers/service.ts'

const found = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'])
const skip = found.status === 0 ? false : 'no Python 3.9 or newer on this machine'

test('the Python client runs jobs, reads insights, schedules, uploads, shares, tells refusals and verifies webhooks', {
  skip,
}, async () => {
  const { folder, remove } = temporaryFolder()
  const token = 'python-test-token'
  const service = await startService({ home: folder, env: { ASSAY_TOKEN: token }, wrapped: false })
  try {
    const tests = path.join(path.dirname(path.dirname(import.meta.dirname)), 'clients/python/tests')
    const child = spawn('python3', ['-B', '-m', 'unittest', 'discover', '-s', tests], {
      timeout: 300_000,
      env: { ...process.env, ASSAY_URL: service.url, ASSAY_TOKEN: token },
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    assert.equal(code, 0, said)
    assert.match(said, /Ran 20 tests/)
  } finally {
    service.signal('SIGTERM')
    await service.exited
    remove()
  }
})
