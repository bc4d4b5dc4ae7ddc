import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  ALLOWED_ADDRESSES,
  ALLOWED_URLS,
  FORBIDDEN_ADDRESSES,
  FORBIDDEN_TEXTS,
  FORBIDDEN_URLS,
} from '../../test/hostile/ssrf-vectors.ts'
import { parseTargets, vetAddress, vetUrl } from './target.ts'

const PUBLIC = parseTargets(['public'])
const vet = (ip: string, targets = PUBLIC, host = 'example.com', port = 443): boolean =>
  vetAddress(ip, host, port, targets)
const fits = (text: string, targets = PUBLIC): boolean => vetUrl(text, targets).ok

test('denies every published address of the inside, in every form', () => {
  for (const ip of ['', ...Object.values(FORBIDDEN_ADDRESSES).flat()]) assert.equal(vet(ip), false, ip)
})

test('lets public addresses through, to the edges of what is denied', () => {
  for (const ip of ALLOWED_ADDRESSES) assert.equal(vet(ip), true, ip)
})

test('no IPv6 form of a forbidden IPv4 address is let through', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const inside = fc.oneof(
    fc.tuple(fc.constant(127), octet, octet, octet),
    fc.tuple(fc.constant(10), octet, octet, octet),
    fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
    fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  )
  const hex = (a: number, b: number): string => ((a << 8) | b).toString(16)
  fc.assert(
    fc.property(inside, fc.integer({ min: 0, max: 0xffff }), ([a, b, c, d], noise) => {
      const [high, low, extra] = [hex(a, b), hex(c, d), noise.toString(16)]
      const inverted = `${hex(255 - a, 255 - b)}:${hex(255 - c, 255 - d)}`
      const forms = [
        `::ffff:${high}:${low}`,
        `::${high}:${low}`,
        `::ffff:0:${high}:${low}`,
        `64:ff9b::${high}:${low}`,
        `64:ff9b:1:${extra}::${high}:${low}`,
        `64:ff9b:1:${high}:${hex(0, c)}:${hex(d, 0)}::`,
        `2002:${high}:${low}:${extra}::1`,
        `2001:0:808:808:0:${extra}:${inverted}`,
        `2001:0:${high}:${low}:${extra}::1`,
        `2606:4700:0:${extra}:0:5efe:${high}:${low}`,
        `2606:4700:0:${extra}:200:5efe:${high}:${low}`,
      ]
      for (const form of forms) assert.equal(vet(form), false, form)
    }),
  )
})

test('an operator who opens a translation prefix opens no inside behind it', () => {
  const targets = parseTargets(['public', '64:ff9b::/96', '2002::/16'])
  assert.equal(vet('64:ff9b::808:808', targets), true)
  assert.equal(vet('2002:808:808::1', targets), true)
  for (const ip of ['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '2002:a00:1::1'])
    assert.equal(vet(ip, targets), false, ip)
})

test('metadata services stay closed, whatever is opened', () => {
  const targets = parseTargets([
    'public',
    '0.0.0.0/0',
    '::/0',
    '*.internal',
    '169.254.169.254',
    'trusted.example',
  ])
  const never = [
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
  ]
  for (const ip of [...never, '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '0.0.0.0', '::', '224.0.0.1']) {
    assert.equal(vet(ip, targets), false, ip)
    assert.equal(vet(ip, targets, 'trusted.example'), false, ip)
  }
  assert.equal(vet('10.1.2.3', targets), true)
  assert.equal(fits('http://metadata.google.internal/', targets), false)
  assert.equal(fits('http://169.254.169.254/latest/meta-data', targets), false)
})

test('opens what its entries say and nothing else', () => {
  const cases: [string, string, string, number, boolean][] = [
    ['loopback', '127.0.0.1', 'localhost', 80, true],
    ['loopback', '127.9.9.9', 'x.example', 80, true],
    ['loopback', '::1', 'localhost', 80, true],
    ['loopback', '::ffff:127.0.0.1', 'x.example', 80, true],
    ['loopback', '::7f00:1', 'x.example', 80, false],
    ['loopback', '10.0.0.1', 'x.example', 80, false],
    ['loopback', '8.8.8.8', 'x.example', 80, false],
    ['10.0.0.0/8', '10.255.0.1', 'x.example', 80, true],
    ['10.0.0.0/8', '::ffff:10.0.0.1', 'x.example', 80, true],
    ['10.0.0.0/8', '11.0.0.1', 'x.example', 80, false],
    ['fd00::/8', 'fd12::1', 'x.example', 80, true],
    ['10.0.0.5:8080', '10.0.0.5', '10.0.0.5', 8080, true],
    ['10.0.0.5:8080', '10.0.0.5', '10.0.0.5', 80, false],
    ['10.0.0.5:8080', '10.0.0.6', '10.0.0.6', 8080, false],
    ['[fd00::1]:8080', 'fd00::1', 'fd00::1', 8080, true],
    ['fd00::1', 'fd00::1', 'x.example', 443, true],
    ['hooks.corp.example', '10.0.0.1', 'hooks.corp.example', 443, true],
    ['hooks.corp.example:8443', '10.0.0.1', 'hooks.corp.example', 443, false],
    ['hooks.corp.example', '10.0.0.1', 'a.hooks.corp.example', 443, false],
    ['*.corp.example', '10.0.0.1', 'a.corp.example', 443, true],
    ['*.corp.example', '10.0.0.1', 'corp.example', 443, false],
    ['*.corp.example', '10.0.0.1', 'evilcorp.example', 443, false],
    ['Bücher.Example', '10.0.0.1', 'xn--bcher-kva.example', 443, true],
  ]
  for (const [entry, ip, host, port, expected] of cases)
    assert.equal(
      vetAddress(ip, host, port, parseTargets([entry])),
      expected,
      `${entry} ${ip} ${host} ${port}`,
    )
})

test('a bad entry is refused with a sentence', () => {
  const bad = `10.0.0.0/33 10.0.0/8 0x0a.0.0.0/8 fd00::/129 fd00::/ http://x * *. x..y x:0 x:70000 x:y 127.1 2130706433
    x/y [::1 x@y`
  for (const entry of ['', 'a b', ...bad.split(/\s+/)])
    assert.throws(() => parseTargets([entry]), /is not a target: write public/, entry)
  assert.deepEqual(parseTargets(['intern']).hosts, [{ name: 'intern', suffix: false, port: null }])
})

test('refuses every spelling of an address of the inside, and every text that is repaired on the way', () => {
  for (const text of [...FORBIDDEN_URLS, ...FORBIDDEN_TEXTS]) assert.equal(fits(text), false, text)
  for (const text of FORBIDDEN_URLS) assert.equal(fits(text.replace('http:', 'https:')), false, text)
})

test('accepts ordinary addresses', () => {
  for (const text of ALLOWED_URLS) assert.equal(fits(text), true, text)
})

test('localhost follows loopback, names of the inside follow what is opened', () => {
  const loopback = parseTargets(['public', 'loopback'])
  for (const text of [
    'http://localhost:9000/x',
    'http://a.localhost',
    'http://127.0.0.1:9000',
    'http://[::1]:9000',
  ])
    assert.equal(fits(text, loopback), true, text)
  assert.equal(fits('http://10.0.0.1/', loopback), false)
  assert.equal(fits('http://receiver:8080/', parseTargets(['172.16.0.0/12'])), true)
  assert.equal(fits('http://hook.internal/', parseTargets(['hook.internal'])), true)
  assert.equal(fits('http://other.internal/', parseTargets(['hook.internal'])), false)
  assert.equal(fits('https://example.com/', parseTargets(['hook.internal'])), false)
})

test('a fault says what to do and is the same for every address that is refused', () => {
  const faults = [
    'http://127.0.0.1/',
    'http://10.1.2.3/',
    'http://169.254.169.254/',
    'http://[::1]/',
    'http://localhost/',
  ]
  const said = new Set(
    faults.map((text) => vetUrl(text, PUBLIC)).map((result) => (result.ok ? '' : result.fault)),
  )
  assert.equal(said.size, 1)
  assert.match([...said][0]!, /ASSAY_WEBHOOK_TARGETS/)
})
