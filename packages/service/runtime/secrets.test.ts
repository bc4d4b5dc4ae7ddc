import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint, hashToken, newToken, SecretBox, SecretError } from './secrets.ts'

const OLD = Buffer.alloc(32, 1)
const NEW = Buffer.alloc(32, 2)

test('opens what it sealed, and seals the same text differently each time', () => {
  const box = new SecretBox([OLD])
  for (const text of ['', 'whsec_abc', 'Grüße 🌍', 'x'.repeat(5000)]) {
    const sealed = box.seal(text, 'webhook 1')
    assert.equal(box.open(sealed, 'webhook 1'), text)
    assert.ok(text === '' || !sealed.includes(text))
  }
  assert.notEqual(box.seal('a', 'c'), box.seal('a', 'c'))
})

test('opens with an older key of the list and seals with the first', () => {
  const sealed = new SecretBox([OLD]).seal('secret', 'x')
  const rotated = new SecretBox([NEW, OLD])
  assert.equal(rotated.open(sealed, 'x'), 'secret')
  assert.throws(() => new SecretBox([OLD]).open(rotated.seal('secret', 'x'), 'x'), SecretError)
  assert.throws(() => new SecretBox([]), SecretError)
})

test('refuses a sealed text that was changed in any place or belongs elsewhere', () => {
  const box = new SecretBox([OLD])
  const sealed = box.seal('a secret of some length', 'webhook 1')
  assert.throws(() => box.open(sealed, 'webhook 2'), /belongs elsewhere/)
  const parts = sealed.split('.')
  for (const part of [2, 3]) {
    const bytes = Buffer.from(parts[part]!, 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index] = changed[index]! ^ 1
      const forged = parts.with(part, changed.toString('base64url')).join('.')
      assert.throws(() => box.open(forged, 'webhook 1'), SecretError)
    }
  }
  const cut = [
    parts.with(3, 'AA').join('.'),
    parts.with(3, parts[3]!.slice(-8)).join('.'),
    parts.with(2, 'A').join('.'),
  ]
  for (const text of ['', 'v1', 'v2.a.b.c', `v1.00000000.${parts[2]}.${parts[3]}`, ...cut])
    assert.throws(() => box.open(text, 'webhook 1'), SecretError)
})

test('tokens have 256 random bits and are kept as a SHA-256', () => {
  const token = newToken()
  assert.match(token, /^assay_[\w-]{43}$/)
  assert.notEqual(token, newToken())
  // The example that NIST publishes: the SHA-256 of "abc".
  assert.equal(hashToken('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  assert.equal(fingerprint('abc'), 'ba7816bf')
})
