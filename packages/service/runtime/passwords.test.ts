import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, passwordFault, verifyPassword } from './passwords.ts'

test('verifies a password against its hash only', async () => {
  const stored = await hashPassword('Zoë’s pass')
  assert.match(stored, /^scrypt\$32768\$8\$1\$/)
  assert.equal(await verifyPassword('Zoë’s pass', stored), true)
  assert.equal(await verifyPassword('Zoe\u0308’s pass', stored), true, 'the same letters in another form')
  assert.equal(await verifyPassword('zoë’s pass', stored), false)
  assert.equal(await verifyPassword('', null), false)
  assert.equal(await verifyPassword('', stored.replace(/\$[^$]*$/, '$')), false, 'a hash that was cut off')
})

test('strangers fill their own queue only, and are told when to try again', async () => {
  const stored = await hashPassword('correct horse')
  const strangers = Array.from({ length: 30 }, () => verifyPassword('wrong', stored).catch((error) => error))
  assert.equal(await verifyPassword('correct horse', stored, { asker: 'known' }), true)
  const answers = await Promise.all(strangers)
  assert.equal(answers.filter((answer) => answer === false).length, 20)
  const refused = answers.filter((answer) => answer !== false)
  assert.deepEqual(
    refused.map(({ code, retryAfter }) => [code, retryAfter]),
    Array.from({ length: 10 }, () => ['rate_limited', 3]),
  )
})

test('a site fills half of the queue, so that a right password from elsewhere is taken meanwhile', async () => {
  const stored = await hashPassword('correct horse')
  const flood = Array.from({ length: 30 }, () =>
    verifyPassword('wrong', stored, { site: '2001:db8:1::/48' }).catch((error) => error),
  )
  assert.equal(await verifyPassword('correct horse', stored, { site: '203.0.113.0/24' }), true)
  const answers = await Promise.all(flood)
  assert.equal(answers.filter((answer) => answer === false).length, 10)
})

test('a password that is guessed first is refused, one of several words is not', () => {
  for (const password of [
    'password',
    'Password2024!',
    'QWERTZUIOP',
    '12345678',
    'aaaaaaaaaa',
    'abcabcabcabc',
    'letmein123',
  ])
    assert.match(passwordFault(password, 'ada') ?? '', /first that are guessed/, password)
  assert.match(passwordFault('catherine1', 'catherine') ?? '', /name of the user/)
  for (const password of ['a long enough password', 'correct horse', 'banana split', 'catherine of aragon'])
    assert.equal(passwordFault(password, 'a'), null, password)
})
