import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { BIGINT } from '@duckdb/node-api'
import { printed } from '../rows/printed-rows.ts'
import { type Command, Rows, type Wire } from './rows.ts'
import type { Packet } from './types.ts'

const BIGINTS = {
  name: 'n',
  columnType: 8,
  columnLength: 20,
  decimals: 0,
  flags: 0,
  characterSet: 63,
  encoding: '',
}

/** Returns a row of one big integer behind the four bytes of its header. */
function packetOf(value: bigint): Packet {
  const buffer = Buffer.alloc(14)
  buffer.writeBigInt64LE(value, 6)
  return { buffer, offset: 4, end: 14 } as Packet
}

function start() {
  const calls: string[] = []
  const wire: Wire = Object.assign(new EventEmitter(), {
    stream: { pause: () => void calls.push('leave the socket') },
    pause: () => void calls.push('keep back'),
    resume: () => void calls.push('go on'),
  })
  const command = new EventEmitter() as Command
  const rows = new Rows(wire, command)
  const parser = new (command.buildParserFromFields([BIGINTS]))()
  return { calls, wire, command, rows, give: (value: bigint) => parser.next(packetOf(value)) }
}

test('when there are enough rows the socket is left alone, and goes on when they were taken', async () => {
  const { calls, wire, command, rows, give } = start()
  await rows.columns()
  let value = 0n
  for (; calls.length === 0; value += 1n) give(value)
  assert.deepEqual(calls, ['leave the socket'])
  const half = Number(value)
  const first = await rows.next()
  assert.equal(first!.rows, half)
  // Rows that came in the same piece have their places. The last place of all holds back the rows that have come
  // already.
  for (; !calls.includes('keep back'); value += 1n) give(value)
  assert.equal(Number(value), 2 * half)
  const all = await rows.next()
  assert.equal(all!.rows, 2 * half)
  const [found] = await printed(all!.rows, [BIGINT, all!.columns[0]!])
  assert.deepEqual(
    found,
    Array.from({ length: 2 * half }, (_, row) => String(row)),
  )
  calls.length = 0
  rows.clear()
  assert.deepEqual(calls, ['go on'])
  give(-1n)
  command.emit('end')
  wire.emit('error', new Error('what comes after the last row is no matter'))
  assert.equal((await rows.next())!.rows, 1)
  rows.clear()
  assert.equal(await rows.next(), null)
})

test('who waits for rows is told of a fault, of the query or of the connection', async () => {
  for (const where of ['command', 'wire'] as const) {
    const started = start()
    const waiting = started.rows.next()
    started[where].emit('error', new Error('gone'))
    await assert.rejects(waiting, /gone/)
    await assert.rejects(started.rows.next(), /gone/)
  }
})
