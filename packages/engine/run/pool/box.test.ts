/** Tests that analyses fit into the memory of the node, and that one which the system ended runs once more with less. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DEFAULT_LIMITS } from '@assay/model/template'
import type { RunResult } from '../protocol.ts'
import { findingsOf, openTestPool, STARTED_AT, sqlTemplate } from '../test-pool.ts'
import { HERE, memoryIn, runIn, workersHere } from './box.ts'
import type { Box } from './contract.ts'
import type { Ending } from './ending.ts'
import { createPool } from './pool.ts'

const GB = 1e9
const log = { warn: () => undefined, error: () => undefined }
const done: Ending<'run'> = { kind: 'result', result: { status: 'stopped' } }
const killed: Ending<'run'> = { kind: 'died', memory: false, killed: true, detail: 'ended by SIGKILL.' }
const short: Ending<'run'> = {
  kind: 'result',
  result: { status: 'failed', error: { code: 'memory_exceeded', detail: 'Block "a" needed more.' } },
}

/** Runs with the endings in turn and records the memory of each. `isShort`: the system counts each death. */
async function run(box: Partial<Box>, endings: Ending<'run'>[], isShort = true) {
  let kills = 0
  const given: number[] = []
  const result: RunResult = await runIn(
    {
      box: { memory_bytes: GB, kills: () => kills, ...box },
      size: 1,
      caps: { ...DEFAULT_LIMITS, memory_bytes: 4 * GB },
      log,
    },
    async (caps, isRepeat, onMemory) => {
      assert.equal(isRepeat, given.length > 0)
      given.push(caps.memory_bytes)
      onMemory(Math.min(caps.memory_bytes, DEFAULT_LIMITS.memory_bytes))
      const ending = endings[given.length - 1]!
      if (ending === killed && isShort) kills += 1
      return ending
    },
  )
  return { given, detail: result.status === 'failed' ? result.error.detail : result.status }
}

test('a container of 1 GB runs one analysis at a time, within what is left of it', () => {
  assert.equal(workersHere({ ...HERE, memory_bytes: GB }, 16), 1)
  assert.equal(workersHere({ ...HERE, memory_bytes: 4 * GB }, 2), 2)
  assert.equal(workersHere({ ...HERE, memory_bytes: 4 * GB }, 64), 9)
  assert.equal(memoryIn({ ...HERE, memory_bytes: GB }, 1), 560_000_000)
  assert.equal(memoryIn({ ...HERE, memory_bytes: GB }, 2), 220_000_000)
  assert.equal(memoryIn({ ...HERE, memory_bytes: GB / 4 }, 4), 64_000_000)
})

test('an analysis that the system ends for want of memory runs once more with half of it', async () => {
  const { given, detail } = await run({ memory_bytes: 8 * GB }, [killed, done])
  assert.deepEqual(given, [4 * GB, GB / 2], 'half of the limit of the template')
  assert.equal(detail, 'stopped')
})

test('what fails for want of memory names the box, and how much there was', async () => {
  assert.equal(
    // The kernel rounds what it grants to whole pages.
    (await run({ memory_bytes: 999_997_440 }, [killed, killed])).detail,
    'The system ended the analysis for want of memory, with limits.memory at 560 MB and again at 280 MB. This node may use 1 GB of memory and runs one analysis at a time: give it more, set ASSAY_WORKERS lower, or let the template read less.',
  )
  assert.match(
    (await run({}, [killed, short])).detail,
    /^Block "a" needed more\. It had 280 MB, because the system ended it with 560 MB for want of memory\. This node/,
  )
  assert.match((await run({}, [short])).detail, /needed more\. Here that is 560 MB: this node may use 1 GB/)
  assert.equal((await run({ memory_bytes: 8 * GB }, [short])).detail, 'Block "a" needed more.')
})

test('a process that somebody else kills loses its attempt, as before', async () => {
  assert.deepEqual(await run({}, [killed, done], false), { given: [560_000_000], detail: 'crashed' })
  assert.deepEqual((await run({ kills: () => null }, [killed, done])).given.length, 1)
})

test('a run whose process the system ends gives its result all the same', async (t) => {
  let kills = 0
  const told: object[] = []
  const pool = createPool({
    size: 1,
    box: { memory_bytes: 64 * GB, kills: () => kills },
    log: { ...log, warn: (fields) => void told.push(fields) },
  })
  t.after(() => pool.stop())
  const bench = await openTestPool()
  t.after(() => bench.close())
  let begun = 0
  const template = sqlTemplate(
    'select count(*) as a from range(3000) a, range(30000) b where a.range < b.range',
  )
  const task = { kind: 'run' as const, template, variables: {}, started_at: STARTED_AT, roots: bench.roots }
  const result = pool.run(task, {
    workspace_id: 'test',
    onBegin: () => void (begun += 1),
    onProgress: () => {
      if (kills > 0) return
      kills = 1
      const pid = pool.stats().children.find(({ state }) => state === 'busy')!.pid!
      if (process.platform === 'linux')
        assert.equal(
          readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(),
          '500',
          'it goes before the service',
        )
      process.kill(pid, 'SIGKILL')
    },
  })
  findingsOf(await result)
  assert.equal(begun, 1, 'it began once for those who watch')
  assert.deepEqual(told, [{ memory_bytes: GB, again_with: GB / 2 }])
})
