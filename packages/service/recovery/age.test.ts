import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable, type Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { AgeError, decryptWith, encryptTo, newIdentity, parseIdentities, parseRecipient } from './age.ts'

/** Files made by the library age-encryption 0.3.1, whose author is that of age. */
const ELSEWHERE = {
  identity: 'AGE-SECRET-KEY-1AXYDQ0YCQ933GUNEL39S7XD5E0J6L0NE2GJLG3C673XZZPEK7M2Q22P5YK',
  recipient: 'age1ayrknps4x375hel03eh3shn4f8hhyuhnhhtyvu50d8q475e8v9fskmm99q',
  file:
    'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSA5UXJnZUFqOXQ1K1dQZXdmdC9FVkVMSkVXOEYzQUhRMFE0dmtYUE9HbmdvCmJleno4WjZR' +
    'ZnV6Z1ErN0JVc2lDc2RWd1pRSStDaDhIOWF6ZXBBaytXZTgKLS0tIGtPejY2N3E2MWFla1JGb3ZickREL051U3lZcmtqWC8vTmdXQzVPOE9HZGsK' +
    'D3/tyOYE3gt74BgHyTn2WqAstJt5HzZr+QtJLOVtLTk4opEknyWJrbqZtXeHUedGzf5bORCLLqCQGA==',
}
const own = parseIdentities(`# public key: ${ELSEWHERE.recipient}\n${ELSEWHERE.identity}\n`)
const recipient = parseRecipient(ELSEWHERE.recipient)!

async function through(transform: Transform, bytes: Buffer, piece = 10_000): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / piece) }, (_, index) =>
    bytes.subarray(index * piece, (index + 1) * piece),
  )
  let out = Buffer.alloc(0)
  await pipeline(
    Readable.from(pieces, { objectMode: false }),
    transform,
    async (found: AsyncIterable<Buffer>) => {
      out = await buffer(Readable.from(found))
    },
  )
  return out
}

const encrypted = (bytes: Buffer): Promise<Buffer> => through(encryptTo(recipient), bytes)
const decrypted = (bytes: Buffer, piece?: number): Promise<Buffer> => through(decryptWith(own), bytes, piece)

test('opens a file that another program encrypted', async () => {
  const plain = await decrypted(Buffer.from(ELSEWHERE.file, 'base64'), 7)
  assert.equal(plain.toString(), 'what was sealed elsewhere\n')
})

test('opens what it has encrypted, whatever its length', async () => {
  for (const length of [0, 1, 65_535, 65_536, 65_537, 131_072, 300_001]) {
    const plain = Buffer.alloc(length, createHash('sha256').update(String(length)).digest())
    assert.deepEqual(await decrypted(await encrypted(plain), 33_333), plain, `${length} bytes`)
  }
})

test('a byte that was changed, and an end that is missing, are told and never given', async () => {
  const whole = await encrypted(Buffer.alloc(70_000, 7))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), fc.boolean(), async (at, cut) => {
      const bytes = Buffer.from(whole)
      bytes[at]! ^= 0x10
      await assert.rejects(decrypted(cut ? whole.subarray(0, at) : bytes), AgeError)
    }),
    { numRuns: 40, seed: 20 },
  )
})

test('says that another key is needed', async () => {
  const { identity, recipient: other } = newIdentity()
  assert.equal(parseRecipient(other)?.length, 32)
  const bytes = await through(encryptTo(recipient), Buffer.from('x'))
  await assert.rejects(through(decryptWith(parseIdentities(identity)), bytes), /encrypted to another key/)
})

test('takes no key with a typing error', () => {
  assert.equal(parseRecipient(ELSEWHERE.recipient.replace('k', 'l')), null)
  assert.equal(parseRecipient(ELSEWHERE.identity), null)
  assert.equal(parseRecipient('age1'), null)
  assert.throws(() => parseIdentities('# nothing\n'), /holds no secret key/)
  assert.throws(() => parseIdentities(ELSEWHERE.recipient), /a line that is not a secret key/)
})
