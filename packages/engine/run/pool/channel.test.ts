import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { listenTo } from './channel.ts'

const PROGRAM = path.join(import.meta.dirname, 'taken-over-fixture.ts')

/** Starts the program. Resolves with the first message, or with the reason why it is trusted no more. */
async function heard(way: string): Promise<{ message: unknown } | { reason: string }> {
  const child = fork(PROGRAM, [way], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    return await new Promise((resolve) => {
      listenTo(child, {
        now: () => performance.now(),
        onMessage(message) {
          if (message.type === 'ready') resolve({ message })
          else if (message.type === 'rows') assert.ok(message.rows.length >= 0)
        },
        onBroken: (reason) => resolve({ reason }),
      })
    })
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

test('an analysis process that is taken over ends itself alone, whatever it sends', async (t) => {
  assert.deepEqual(await heard('nothing'), { message: { type: 'ready' } })
  const ways: [string, RegExp][] = [
    ['null', /what nobody understands/],
    ['number', /what nobody understands/],
    ['a message without its parts', /what nobody understands/],
    ['no JSON', /what nobody understands/],
    ['an answer that nobody asked for', /what nobody understands/],
    ['a handle of no kind', /a handle/],
    ['a socket', /a handle/],
    ['text without end', /more than 500000000 bytes for one task/],
    ['messages without end', /more than 5000 messages in a second/],
  ]
  for (const [way, reason] of ways) {
    t.diagnostic(way)
    const found = await heard(way)
    assert.ok('reason' in found, way)
    assert.match(found.reason, reason, way)
  }
})
