import assert from 'node:assert/strict'
import test from 'node:test'
import type { Variable } from '@assay/model/template'
import * as fc from 'fast-check'
import { bindOptions, optionReferences } from '../reading/options.ts'
import { parseTemplate } from '../reading/parse.ts'
import { vetPath } from './file-path.ts'
import { convertVariables } from './variables.ts'

function declare(yaml: string): Variable[] {
  const source = `---\nsources: { s: { file: a.csv } }\nvariables:\n${yaml
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')}\n---\n`
  const { template, faults } = parseTemplate({ template_id: 't', source, partials: {} })
  assert.deepEqual(faults, [])
  return template!.variables
}

function convert(yaml: string, given: Record<string, unknown>): Record<string, unknown> {
  const { values, errors } = convertVariables(declare(yaml), given)
  assert.deepEqual(errors, [])
  return values
}

function refusals(yaml: string, given: Record<string, unknown>): string[] {
  return convertVariables(declare(yaml), given).errors.map(({ path, message }) => `${path}: ${message}`)
}

test('text is converted to every type', () => {
  const yaml = `s: { type: string }
i: { type: integer }
n: { type: number }
b: { type: boolean }
d: { type: date }
t: { type: timestamp }
p: { type: period }
c: { type: column, of: s }
f: { type: file }
l: { type: list, items: integer }`
  assert.deepEqual(
    convert(yaml, {
      s: 'ORD',
      i: ' 12 ',
      n: '-1.5e3',
      b: 'TRUE',
      d: '2024-02-29',
      t: '2024-02-29 12:30+02:00',
      p: 'last_30_days',
      c: 'arr delay',
      f: 'sales/2024.csv',
      l: '1, 2,3',
    }),
    {
      s: 'ORD',
      i: 12,
      n: -1500,
      b: true,
      d: '2024-02-29',
      t: '2024-02-29T10:30:00Z',
      p: 'last_30_days',
      c: 'arr delay',
      f: 'sales/2024.csv',
      l: [1, 2, 3],
    },
  )
})

test('what is not given is the default or null', () => {
  const yaml = `a: { type: integer, default: 5 }
b: { type: integer }
c: { type: string, default: x }
d: { type: list, items: string }`
  assert.deepEqual(convert(yaml, {}), { a: 5, b: null, c: 'x', d: null })
  assert.deepEqual(convert(yaml, { a: null, b: '', c: '', d: '[]' }), { a: 5, b: null, c: '', d: [] })
})

test('all faults come at once, each with its path', () => {
  const yaml = `origin: { type: string, required: true, pattern: "^[A-Z]{3}$", description: Airport }
top: { type: integer, min: 1, max: 100 }
level: { type: string, enum: [low, high] }
day: { type: date, max: 2024-12-31 }
names: { type: list, items: integer, max: 9, max_length: 2 }`
  assert.deepEqual(
    refusals(yaml, { top: '0', level: 'hihg', day: '2025-01-01', names: ['1', 'x'], orgin: 'ORD' }),
    [
      'payload.template_vars.orgin: The template has no variable "orgin". Did you mean "origin"?',
      'payload.template_vars.origin: origin is required (Airport): give a string.',
      'payload.template_vars.top: top must be at least 1; it is 0.',
      'payload.template_vars.level: level cannot be "hihg". Did you mean "high"?',
      'payload.template_vars.day: day must be at most "2024-12-31"; it is "2025-01-01".',
      'payload.template_vars.names: names item 2 must be a whole number, not "x".',
    ],
  )
  assert.match(refusals(yaml, { origin: 'ord', names: [1, 2, 3] }).join(), /pattern.*at most 2 items/)
  assert.match(refusals(yaml, { origin: 'ORD', names: [10] }).join(), /item 1 must be at most 9/)
})

test('values of a wrong kind are refused', () => {
  const cases: [string, unknown][] = [
    ['integer', '1.5'],
    ['integer', 1.5],
    ['integer', '9223372036854775808'],
    ['integer', true],
    ['number', 'NaN'],
    ['number', Number.POSITIVE_INFINITY],
    ['number', '1,5'],
    ['boolean', 'yes'],
    ['date', '2023-02-29'],
    ['date', '20240101'],
    ['timestamp', '2024-01-01T25:00:00'],
    ['timestamp', 'now'],
    ['period', 'last week'],
    ['string', ['a']],
    ['string', { a: 1 }],
    ['string', 'a\0b'],
    ['string', '\ud800'],
    ['file', '../a.csv'],
    ['list', { a: 1 }],
  ]
  for (const [type, value] of cases) {
    assert.equal(refusals(`x: { type: ${type} }`, { x: value }).length, 1, `${type} ${JSON.stringify(value)}`)
  }
})

test('integers of 64 bits keep every digit', () => {
  const yaml = 'x: { type: integer, max: "9007199254740993" }'
  assert.deepEqual(convert(yaml, { x: '9007199254740993' }), { x: '9007199254740993' })
  assert.match(refusals(yaml, { x: '9007199254740994' }).join(), /at most/)
  assert.deepEqual(convert('x: { type: integer }', { x: '-9223372036854775808' }), {
    x: '-9223372036854775808',
  })
})

test('names that every object has are no variables', () => {
  assert.equal(
    refusals('x: { type: string }', JSON.parse('{"__proto__": "1", "constructor": "2"}')).length,
    2,
  )
})

test('only paths below a folder are paths', () => {
  for (const path of ['a.csv', 'sample/x.parquet', 'a/b/*.csv', 'Bücher/ä.csv', '...hidden'])
    assert.equal(vetPath(path), null, path)
  for (const path of [
    '',
    '/etc/passwd',
    '../a',
    'a/../../b',
    'a/..',
    '..',
    '~/a',
    'C:/a',
    'C:\\a',
    'http://x/y',
    's3://b',
    'file:a',
    'a\0b',
    'a\nb',
    ' a',
    'a//b',
    './a',
    'x'.repeat(1001),
  ]) {
    assert.notEqual(vetPath(path), null, path)
  }
})

test('integers and days survive text', () => {
  fc.assert(
    fc.property(
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (integer, double) => {
        const values = convert('i: { type: integer }\nn: { type: number }', {
          i: String(integer),
          n: String(double),
        })
        assert.equal(values.i, integer)
        assert.equal(values.n, double === 0 ? 0 : double)
      },
    ),
    { numRuns: 50 },
  )
})

test('options take variables that stand alone, at any depth', () => {
  const period = { start: '2024-01-01', end: '2024-02-01', label: 'x', previous: { start: '2023-12-01' } }
  const options = {
    horizon: '$n',
    by: ['$c', 'b'],
    split: { before: '$p.previous.start', after: 'a $n' },
    gone: '$none',
    odd: '$undeclared',
    empty: null,
  }
  assert.deepEqual(bindOptions(options, { n: 12, c: 'carrier', p: period, none: null }), {
    horizon: 12,
    by: ['carrier', 'b'],
    split: { before: '2023-12-01', after: 'a $n' },
    odd: '$undeclared',
    empty: null,
  })
  assert.deepEqual(
    optionReferences(options).map(({ name }) => name),
    ['n', 'c', 'p', 'none', 'undeclared'],
  )
})

/** Returns the milliseconds of processor time of this process, so that the load of the machine does not count. */
const cpuMs = (): number => process.cpuUsage().user / 1000

test('what is wrong is told of a hundred values at most, and of the bound on patterns once', () => {
  const given = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`${'x'.repeat(10)}${index}`, 1]),
  )
  const began = cpuMs()
  assert.equal(refusals('x: { type: string }', given).length, 100)
  assert.ok(cpuMs() - began < 2000)
  const [long] = refusals('x: { type: string }', { ['y'.repeat(100_000)]: 1 })
  assert.ok(long!.length < 500, 'a name is cut')
  const names = Array.from({ length: 50 }, (_, index) => `v${index}`)
  const yaml = names.map((name) => `${name}: { type: string, pattern: "^(a{1,50})+$" }`).join('\n')
  const slow = refusals(yaml, Object.fromEntries(names.map((name) => [name, 'a'.repeat(10_000)])))
  assert.equal(slow.length, 1)
  assert.match(slow[0]!, /cannot be tested/)
})

test('a template declares a bounded number of variables', () => {
  const yaml = Array.from({ length: 201 }, (_, index) => `  v${index}: { type: string }`).join('\n')
  const { faults } = parseTemplate({
    template_id: 't',
    source: `---\nvariables:\n${yaml}\n---\n`,
    partials: {},
  })
  assert.match(faults[0]?.message ?? '', /"variables" must be a map of at most 200 keys/)
})

test('of defaults beyond the bound on patterns one is told of', () => {
  const slow = `{ type: string, pattern: "^(a{1,500})+$", default: ${'a'.repeat(900)} }`
  const yaml = Array.from({ length: 100 }, (_, index) => `  v${index}: ${slow}`).join('\n')
  const began = cpuMs()
  const { faults } = parseTemplate({
    template_id: 't',
    source: `---\nvariables:\n${yaml}\n---\n`,
    partials: {},
  })
  assert.ok(cpuMs() - began < 3000)
  assert.deepEqual(
    faults.map(({ code }) => code),
    ['slow_pattern'],
  )
})
