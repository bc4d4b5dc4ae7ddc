import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { newSigningSecret, SignatureError, type SignatureFault, sign, verify } from './signature.ts'

/**
 * Values of standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts (and six other languages
 * there).
 */
const STANDARD = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1614265330,
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
/** Values of svix/svix-docs, receiving/verifying-payloads/how-manual. */
const SVIX_MANUAL = {
  secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
  id: 'msg_loFOjxBNrRLzqYUf',
  timestamp: 1731705121,
  body: '{"event_type":"ping","data":{"success":true}}',
  signature: 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
}
/** Values of svix/svix-webhooks, server/svix-server/src/worker.rs, test_asymmetric_key_signing. */
const ASYMMETRIC = {
  ...STANDARD,
  secret: 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
  signature: 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
}
const WRONG = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc='

function headers(vector: { id: string; timestamp: number | string; signature: string }) {
  return {
    'webhook-id': vector.id,
    'webhook-timestamp': String(vector.timestamp),
    'webhook-signature': vector.signature,
  }
}

function faultOf(work: () => unknown): SignatureFault | 'none' {
  try {
    work()
    return 'none'
  } catch (error) {
    assert.ok(error instanceof SignatureError, String(error))
    return error.fault
  }
}

for (const [name, vector] of Object.entries({ STANDARD, SVIX_MANUAL, ASYMMETRIC })) {
  test(`signs and verifies the published vector ${name}`, () => {
    assert.equal(sign({ ...vector, secrets: [vector.secret] }), vector.signature)
    const now = vector.timestamp * 1000
    const given = { headers: headers(vector), body: Buffer.from(vector.body), now }
    assert.deepEqual(verify({ ...given, secret: vector.secret }), {
      id: vector.id,
      timestamp: vector.timestamp,
    })
  })
}

test('verifies the published Ed25519 vector with the public key and with the bare seed', () => {
  const given = { headers: headers(ASYMMETRIC), body: ASYMMETRIC.body, now: ASYMMETRIC.timestamp * 1000 }
  verify({ ...given, publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=' })
  const seed = Buffer.from(ASYMMETRIC.secret.slice(5), 'base64').subarray(0, 32).toString('base64')
  assert.equal(sign({ ...ASYMMETRIC, secrets: [`whsk_${seed}`] }), ASYMMETRIC.signature)
})

test('passes over signatures of other keys and versions in the list', () => {
  const list = ['v2,AAAA', WRONG, 'nonsense', ASYMMETRIC.signature, STANDARD.signature].join(' ')
  const now = STANDARD.timestamp * 1000
  const given = { headers: headers({ ...STANDARD, signature: list }), body: STANDARD.body, now }
  verify({ ...given, secret: STANDARD.secret })
})

test('refuses what does not fit and says why', () => {
  const now = STANDARD.timestamp * 1000
  const check = (change: Record<string, string | undefined>, more: object = {}): SignatureFault | 'none' =>
    faultOf(() =>
      verify({
        headers: { ...headers(STANDARD), ...change },
        body: STANDARD.body,
        secret: STANDARD.secret,
        now,
        ...more,
      }),
    )
  assert.equal(check({}), 'none')
  assert.equal(check({ 'webhook-id': undefined }), 'header_missing')
  assert.equal(check({ 'webhook-timestamp': '' }), 'header_missing')
  assert.equal(check({ 'webhook-signature': undefined }), 'header_missing')
  assert.equal(check({ 'webhook-timestamp': 'hello' }), 'timestamp_invalid')
  assert.equal(check({ 'webhook-timestamp': '1e9' }), 'timestamp_invalid')
  assert.equal(check({ 'webhook-id': 'msg_other' }), 'signature_mismatch')
  assert.equal(check({ 'webhook-signature': WRONG }), 'signature_mismatch')
  assert.equal(check({ 'webhook-signature': 'v1,' }), 'signature_mismatch')
  assert.equal(check({ 'webhook-signature': STANDARD.signature.slice(0, 20) }), 'signature_mismatch')
  assert.equal(check({ 'webhook-signature': `v2${STANDARD.signature.slice(2)}` }), 'signature_mismatch')
  assert.equal(check({}, { body: '{"test": 2432232315}' }), 'signature_mismatch')
  for (const secret of [
    '',
    'whsec_',
    'whsec_!!',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whpk_AAAA',
    'whsk_AAAA',
  ])
    assert.equal(check({}, { secret }), 'key_invalid', secret)
})

test('tolerates five minutes both ways and not a second more', () => {
  const at = (seconds: number, tolerance?: number): SignatureFault | 'none' =>
    faultOf(() =>
      verify({
        headers: headers(STANDARD),
        body: STANDARD.body,
        secret: STANDARD.secret,
        now: (STANDARD.timestamp + seconds) * 1000,
        ...(tolerance === undefined ? {} : { tolerance }),
      }),
    )
  assert.deepEqual([at(300), at(-300)], ['none', 'none'])
  assert.equal(at(301), 'timestamp_too_old')
  assert.equal(at(-301), 'timestamp_too_new')
  assert.equal(at(11, 10), 'timestamp_too_old')
})

test('a dot cannot be moved between id, timestamp and body', () => {
  const timestamp = 1614265330
  const signature = sign({ id: 'a', timestamp: 7, body: `${timestamp}.x`, secrets: [STANDARD.secret] })
  const moved = { headers: headers({ id: 'a.7', timestamp, signature }), body: 'x', now: timestamp * 1000 }
  assert.equal(
    faultOf(() => verify({ ...moved, secret: STANDARD.secret })),
    'signature_mismatch',
  )
  assert.throws(() => sign({ id: 'a.7', timestamp, body: 'x', secrets: [STANDARD.secret] }), TypeError)
})

test('takes headers as node:http gives them, as Headers, and in any case', () => {
  const given = { body: STANDARD.body, secret: STANDARD.secret, now: STANDARD.timestamp * 1000 }
  verify({ ...given, headers: new Headers(headers(STANDARD)) })
  const upper = Object.entries(headers(STANDARD)).map(([name, value]) => [name.toUpperCase(), [value]])
  verify({ ...given, headers: Object.fromEntries(upper) })
})

test('every body verifies as the bytes that were signed, in both versions, with both keys of a rotation', () => {
  const [older, newer] = [newSigningSecret('v1'), newSigningSecret('v1')]
  const pair = newSigningSecret('v1a')
  fc.assert(
    fc.property(fc.uint8Array(), (body) => {
      const secrets = [newer.secret, older.secret, pair.secret]
      const signature = sign({ id: 'event', timestamp: 1_700_000_000, body, secrets })
      const given = {
        headers: headers({ id: 'event', timestamp: 1_700_000_000, signature }),
        now: 1_700_000_000_000,
      }
      for (const secret of secrets) verify({ ...given, body, secret })
      verify({ ...given, body, publicKey: pair.public_key! })
      const changed = Uint8Array.from([...body, 0])
      for (const secret of secrets)
        assert.equal(
          faultOf(() => verify({ ...given, body: changed, secret })),
          'signature_mismatch',
        )
    }),
    { numRuns: 100 },
  )
})

test('the standardwebhooks package verifies our signatures and we verify its own', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.uuid(), (text, id) => {
      const { secret } = newSigningSecret('v1')
      const body = JSON.stringify({ text })
      const timestamp = Math.floor(Date.now() / 1000)
      const theirs = new StandardWebhook(secret)
      const signature = sign({ id, timestamp, body, secrets: [newSigningSecret('v1').secret, secret] })
      assert.deepEqual(theirs.verify(body, headers({ id, timestamp, signature })), { text })
      const own = theirs.sign(id, new Date(timestamp * 1000), body)
      verify({ headers: headers({ id, timestamp, signature: own }), body, secret })
    }),
    { numRuns: 50 },
  )
})

test('new keys have the published forms and are never the same', () => {
  const shared = newSigningSecret('v1')
  assert.match(shared.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(shared.public_key, null)
  const pair = newSigningSecret('v1a')
  assert.equal(Buffer.from(pair.secret.slice('whsk_'.length), 'base64').length, 64)
  assert.equal(Buffer.from(pair.public_key!.slice('whpk_'.length), 'base64').length, 32)
  assert.notEqual(newSigningSecret('v1').secret, shared.secret)
})
