import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import * as fc from 'fast-check'
import { markdown, outcome, render, table } from '../rendering/render-fixture.ts'
import { TemplateFault } from './fault.ts'
import { FILTERS } from './filters/catalog.ts'

const daily = table({ day: 'timestamp', n: 'integer', delay: 'number', amount: 'decimal', name: 'text' }, [
  ['2001-04-01T00:00:00', 5, 1.25, '10.10', 'b'],
  ['2001-04-02T00:00:00', 1_234_567, null, '9.95', 'a*b'],
  ['2001-04-03T00:00:00', 7, -3.5, '10.10', 'c d'],
])
const points = [
  { time: '2001-04-03T00:00:00', value: -3.5, score: 4 },
  { time: '2001-04-04T00:00:00', value: 2, score: 4 },
]
const given = {
  vars: {
    s: 'Hello *World*',
    e: '',
    n: 3,
    z: 0,
    f: 2.5,
    t: true,
    no: false,
    nul: null,
    list: ['x', 'y', 'x', null],
    nums: [3, 1, 2],
    big: '12345678901234567890',
    d: '2024-03-05T14:07:09Z',
    p: {
      start: '2024-01-01',
      end: '2024-02-01',
      label: 'Jan',
      previous: { start: 'a', end: 'b', label: 'c' },
    },
  },
  blocks: {
    daily: { ...daily, total: 30 },
    odd: outcome({ points, none: [], nested: { deep: [1, [2, 3]], flag: false } }),
  },
  partials: {
    p: '[{{ a }}{% assign s1 = 9 %}{% for i in (1..3) %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}{% break %}dead]',
    q: '<{{ vars.n }}{% render "p", a: b %}>',
  },
}

function faultOf(body: string): { code: string; message: string } {
  try {
    render(body, given)
  } catch (error) {
    assert.ok(error instanceof TemplateFault, String(error))
    return error.fault
  }
  throw new Error(`nothing was wrong with ${body}`)
}

/**
 * Templates with the Markdown that liquidjs 10.30.1 made of them, recorded before our own evaluator replaced it.
 * Since then percentages have a space, and tables have readable names.
 */
const golden = JSON.parse(readFileSync(path.join(import.meta.dirname, 'liquid-golden.json'), 'utf8')) as {
  template: string
  markdown: string
}[]

test('templates render to what liquidjs made of them', () => {
  assert.ok(golden.length >= 150)
  for (const { template, markdown: expected } of golden) {
    assert.equal(markdown(template, given), expected, template)
  }
})

test('captured text is text: it is compared, measured and looped over as what it says', () => {
  const capture = '{% capture c %}10{% endcapture %}{% capture none %}{% endcapture %}'
  const yes = (condition: string): string => `{% if ${condition} %}yes{% endif %}`
  for (const condition of [
    'c == "10"',
    'c == 10',
    'c > 9',
    'c contains "1"',
    'none == empty',
    'c.size == 2',
  ]) {
    assert.equal(markdown(`${capture}${yes(condition)}`, given), 'yes', condition)
  }
  assert.equal(markdown(`${capture}{{ none | default: "d" }}{% for x in c %}[{{ x }}]{% endfor %}`), 'd[10]')
})

test('exact numbers are grouped and made unique by their value', () => {
  assert.equal(markdown('{{ daily | pluck: "amount" | uniq | join: " " }}', given), '10.10 9.95')
  const groups =
    '{% assign g = daily | group_by: "amount" %}{% for x in g %}{{ x.name }}:{{ x.items.size }} {% endfor %}'
  assert.equal(markdown(groups, given), '10.10:2 9.95:1')
})

test('nothing and rows in a text are said: null prints nothing, rows and objects are faults', () => {
  assert.equal(markdown('[{{ nil }}{{ empty }}{{ vars.nul | upcase }}]', given), '[]')
  for (const body of ['{{ daily | upcase }}', '{{ odd.nested | append: "x" }}', '{{ daily[0] }}']) {
    assert.match(faultOf(body).message, /cannot be printed/, body)
  }
})

test('filters refuse what they cannot use', () => {
  assert.match(faultOf('{{ "abc" | truncate: "x" }}').message, /truncate needs a number, not "x"/)
  assert.match(faultOf('{{ daily | where: "gone", 1 }}').message, /no column "gone"/)
  assert.match(faultOf('{{ daily | where }}').message, /where needs a column/)
  assert.match(faultOf('{{ "a" | append }}').message, /append needs a text/)
  assert.match(faultOf('{{ vars.list | pluck: "x" }}').message, /no column "x"/)
  assert.equal(faultOf('{{ "a" | shuffle }}').code, 'unknown_filter')
})

test('what liquidjs dropped or garbled is a fault of syntax', () => {
  for (const body of [
    '{% if 1 %}a{% else %}b{% else %}c{% endif %}',
    '{% if 1 %}a{% else %}b{% elsif 2 %}c{% endif %}',
    '{% case 1 %}{% else %}b{% when 1 %}c{% endcase %}',
    '{% if 1 == not 2 %}a{% endif %}',
    '{% # one\n two %}',
    '{% %}',
    '{{ "a }}',
  ]) {
    assert.throws(() => render(body, given), /liquid_syntax/, body)
  }
})

test('work beyond the bounds is stopped: ranges, doubled and joined texts', () => {
  for (const body of [
    '{{ (1..100000000) | size }}',
    '{% assign x = "0123456789" %}{% for i in (1..40) %}{% assign x = x | append: x %}{% endfor %}',
    '{% assign x = "0123456789" %}{% for i in (1..40) %}{% assign x = x | replace: "0", x %}{% endfor %}',
    '{% assign x = "0123456789" %}{% for i in (1..15) %}{% assign x = x | append: x %}{% endfor %}{{ (1..1000) | join: x }}',
  ]) {
    assert.match(faultOf(body).message, /limit exceeded/, body)
  }
})

test('a hundred levels of tags are rendered, and through partials five hundred', () => {
  const deep = (inner: string): string =>
    `${'{% for i in (1..1) %}'.repeat(99)}${inner}${'{% endfor %}'.repeat(99)}`
  const partials = (count: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `p${index}`,
        deep(index === count - 1 ? 'end' : `{% render "p${index + 1}" %}`),
      ]),
    )
  assert.equal(markdown(deep('{% render "p0" %}'), { partials: partials(4) }), 'end')
  assert.throws(
    () => markdown(deep('{% render "p0" %}'), { partials: partials(20) }),
    /deeper than 500 levels/,
  )
})

/** Returns the milliseconds of processor time of this process, so that the load of the machine does not count. */
const cpuMs = (): number => process.cpuUsage().user / 1000

test('twenty thousand tags on one line, and as many filters in a row, take no time to speak of', () => {
  for (const body of [
    ' {% assign a = 1 %}'.repeat(20_000),
    '{% if true %}x{% endif %}'.repeat(10_000),
    `{{ "x"${' | upcase'.repeat(20_000)} }}`,
    `{% if true${' and true'.repeat(20_000)} %}x{% endif %}`,
  ]) {
    const began = cpuMs()
    render(body, given)
    assert.ok(cpuMs() - began < 2000, body.slice(0, 40))
  }
})

test('any filter over any value gives Markdown or a fault', () => {
  const values =
    'vars.s vars.e vars.n vars.nul vars.list vars.p daily daily[0] odd.points odd.nested daily[0].amount nil blank "1" (1..3)'
  const value = fc.constantFrom(...values.split(' '))
  const call = fc
    .tuple(fc.constantFrom(...FILTERS), fc.array(value, { maxLength: 2 }))
    .map(([name, args]) => ` | ${name}${args.length > 0 ? `: ${args.join(', ')}` : ''}`)
  fc.assert(
    fc.property(value, fc.array(call, { minLength: 1, maxLength: 3 }), (first, calls) => {
      try {
        render(`{{ ${first}${calls.join('')} }}`, given)
      } catch (error) {
        assert.ok(error instanceof TemplateFault, String((error as Error).stack))
      }
    }),
    { numRuns: 2000 },
  )
})
