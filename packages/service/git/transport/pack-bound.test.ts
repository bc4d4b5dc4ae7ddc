import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import type { HttpClient } from 'isomorphic-git'
import { bounded, UNFOLDED_MOST, UnfoldsError } from './pack-bound.ts'

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    bytes.push(left < 128 ? left : (left % 128) + 128)
    if (left < 128) return Buffer.from(bytes)
  }
}

/** Makes an object of a pack that claims to have `size` bytes. */
function object(type: number, bytes: Buffer, size = bytes.length): Buffer {
  const first = (type << 4) | (size & 15)
  const head =
    size < 16
      ? Buffer.from([first])
      : Buffer.concat([Buffer.from([first | 128]), varint(Math.floor(size / 16))])
  return Buffer.concat([head, ...(type === 7 ? [Buffer.alloc(20)] : []), deflateSync(bytes)])
}

function answerOf(...objects: Buffer[]): Buffer {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(objects.length)
  const pack = Buffer.concat([Buffer.from('PACK\0\0\0\x02'), count, ...objects, Buffer.alloc(20)])
  const lines = [Buffer.from('NAK\n')]
  for (let at = 0; at < pack.length; at += 50)
    lines.push(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 50)]))
  const framed = lines.map((line) =>
    Buffer.concat([Buffer.from((line.length + 4).toString(16).padStart(4, '0')), line]),
  )
  return Buffer.concat([...framed, Buffer.from('0000')])
}

async function ask(answer: Buffer): Promise<Buffer> {
  const server = { request: () => Promise.resolve({ body: [answer] }) } as unknown as HttpClient
  const { body } = await bounded(server).request({ url: 'https://git.example/a.git/git-upload-pack' })
  const parts: Uint8Array[] = []
  for await (const part of body as unknown as AsyncIterable<Uint8Array>) parts.push(part)
  return Buffer.concat(parts)
}

test('a pack that unfolds to more than a commit may have is refused before it is unfolded, and others come as they are', async () => {
  const text = Buffer.from('# A report of some lines\n'.repeat(40))
  const delta = (target: number) =>
    object(7, Buffer.concat([varint(text.length), varint(target), Buffer.from([0])]))
  const good = answerOf(
    object(3, text),
    object(1, Buffer.from('tree x')),
    delta(text.length),
    object(3, Buffer.alloc(0)),
  )
  assert.deepEqual(await ask(good), good)
  const bombs = {
    'an object that says how large it is': answerOf(object(3, text), object(3, text, UNFOLDED_MOST)),
    'one that says less than it has': answerOf(object(3, Buffer.alloc(100_000), 100)),
    'a delta that makes a large one': answerOf(object(3, text), delta(UNFOLDED_MOST)),
    'many deltas': answerOf(object(3, text), ...Array.from({ length: 9 }, () => delta(UNFOLDED_MOST / 8))),
    'more objects than there are': answerOf(object(3, text)).fill(0xff, 24, 26),
  }
  for (const [name, bomb] of Object.entries(bombs)) await assert.rejects(ask(bomb), UnfoldsError, name)
})
