import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bareAddress, clientAddress, networkOf, parseProxies, siteOf } from './proxies.ts'

test('reads an address with or without a port or brackets, and nothing else', () => {
  assert.equal(bareAddress('203.0.113.9'), '203.0.113.9')
  assert.equal(bareAddress('203.0.113.9:4711'), '203.0.113.9')
  assert.equal(bareAddress('[2001:db8::1]:443'), '2001:db8::1')
  assert.equal(bareAddress('2001:DB8:0:0::1'), '2001:db8::1')
  assert.equal(bareAddress('::ffff:203.0.113.9'), '203.0.113.9')
  for (const text of ['', '<script>', 'unknown', '_hidden', '1.2.3', '1.2.3.4:x', '::1%eth0', '0x7f.1'])
    assert.equal(bareAddress(text), null, text)
})

test('believes only the proxies that are named, at every hop', () => {
  const trusts = parseProxies('10.0.0.0/8, 192.0.2.7, fd00::/8')!
  for (const address of ['10.1.2.3', '10.1.2.3:99', '192.0.2.7', 'fd00::1', '::ffff:10.9.9.9'])
    assert.ok(trusts(address, 3), address)
  for (const address of ['11.0.0.1', '192.0.2.8', '2001:db8::1', '<script>'])
    assert.ok(!trusts(address, 0), address)
})

test('believes the connection alone where no address is named, and nobody where it is off', () => {
  const last = parseProxies('true')!
  assert.deepEqual([last('198.51.100.1', 0), last('198.51.100.1', 1)], [true, false])
  assert.equal(parseProxies('false'), null)
})

test('says what a list of proxies must be', () => {
  for (const text of [
    'yes',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0',
    'proxy.internal',
    '10.0.0.0/8,',
    '*',
    'fd00::/129',
  ])
    assert.throws(() => parseProxies(text), /must be true, false, or addresses of proxies such as/, text)
})

test('takes the farthest hop that is an address, so that ports and junk make no new client', () => {
  assert.equal(clientAddress(['10.0.0.1', '203.0.113.9:5678']), '203.0.113.9')
  assert.equal(clientAddress(['10.0.0.1', '<script>']), '10.0.0.1')
  assert.equal(clientAddress(['10.0.0.1', '<script>', '203.0.113.9']), '10.0.0.1')
  assert.equal(clientAddress(['10.0.0.1']), '10.0.0.1')
})

test('counts an address of IPv6 with the 64 bits that its owner has, and IPv4 by itself', () => {
  assert.equal(networkOf('203.0.113.9'), '203.0.113.9')
  assert.equal(networkOf('::ffff:203.0.113.9'), '203.0.113.9')
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2:ffff::1'))
  assert.notEqual(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
  assert.equal(networkOf('unknown'), 'unknown')
  assert.equal(siteOf('203.0.113.9'), '203.0.113.0/24')
  assert.equal(siteOf('2001:db8:1:2::1'), siteOf('2001:db8:1:ffff::1'))
  assert.notEqual(siteOf('2001:db8:1::1'), siteOf('2001:db8:2::1'))
  assert.equal(siteOf('unknown'), 'unknown')
})
