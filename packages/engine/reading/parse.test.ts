import assert from 'node:assert/strict'
import test from 'node:test'
import type { Fault, Template } from '@assay/model/template'
import * as fc from 'fast-check'
import { parseTemplate } from './parse.ts'
import { reachablePartials, templateVersion } from './partials.ts'
import { plainTitle, runTitle } from './titles.ts'

function parse(source: string, partials: Record<string, string> = {}) {
  return parseTemplate({ template_id: 'the-file', source, partials })
}

function good(source: string): Template {
  const { template, faults } = parse(source)
  assert.deepEqual(faults, [])
  return template!
}

/** Returns "line:column code" of each fault. */
function places(faults: Fault[]): string[] {
  return faults.map(({ line, column, code }) => `${line}:${column} ${code}`)
}

test('a template without front matter is a title and prose', () => {
  const template = good('# Sales of {{ run.started_at }}\n\nNothing.\n')
  assert.equal(template.template_id, 'the-file')
  assert.equal(template.title, 'Sales of {{ run.started_at }}')
  assert.equal(template.title_line, 1)
  assert.equal(template.time_zone, 'UTC')
})

test('a run without an insight has the title of its template with its own values, within a small bound', () => {
  const titled = (title: string, until = '') =>
    good(
      `---\ntitle: ${JSON.stringify(title)}\nsources: { f: { file: a.csv } }\nvariables:\n  origin: { type: string, required: true }\n` +
        `  period: { type: period, default: last_week${until} }\n---\nBody`,
    )
  const delays =
    'Flight delays{% if vars.origin %} from {{ vars.origin }}{% endif %}, {{ vars.period.label }}'
  const at = '2026-11-24T00:00:00.000Z'
  const ord = { origin: 'ORD', period: 'last_week' }
  assert.equal(plainTitle(titled(delays)), 'Flight delays')
  assert.equal(runTitle(titled(delays), ord, at), 'Flight delays from ORD, 16 to 22 November 2026')
  const counted = titled(delays, ', until: f.day')
  assert.equal(runTitle(counted, ord, at), 'Flight delays from ORD, last week')
  assert.equal(
    runTitle(counted, { ...ord, period: '2001-Q2' }, at),
    'Flight delays from ORD, April to June 2001',
  )
  assert.equal(runTitle(titled('Sales of {{ run.started_at }}'), ord, at), 'Sales')
  const named = {
    ...titled('Late from {{ places[0].city | default: vars.origin }}'),
    blocks: [{ name: 'places' }],
  }
  assert.equal(runTitle(named, ord, at), 'Late from ORD')
  const began = performance.now()
  const endless = titled('{% for a in (1..9999) %}{% for b in (1..9999) %}{% endfor %}{% endfor %}Sales')
  assert.equal(runTitle(endless, ord, at), 'Sales')
  assert.ok(performance.now() - began < 2000)
})

test('a title of thousands of signs takes no longer than another', () => {
  const titled = good(
    '---\ntitle: "Sales of {{ vars.note }}"\nvariables:\n  note: { type: string, required: true }\n---\nText.\n',
  )
  for (const sign of [' ', ',', '-']) {
    const began = process.cpuUsage()
    const title = runTitle(titled, { note: `a${sign.repeat(19_000)}b` }, '2026-11-24T00:00:00.000Z')
    const { user } = process.cpuUsage(began)
    assert.ok(user < 200_000, `${user} µs for ${JSON.stringify(sign)}`)
    assert.match(title, /^Sales of a/)
    assert.ok(title.length <= 301)
  }
})

test('a template has at most 1,000 blocks: the first that is over is named with its line', () => {
  const blocks = (count: number): string =>
    Array.from({ length: count }, (_, index) => `\`\`\`sql b${index}\nselect 1\n\`\`\`\n`).join('')
  assert.equal(good(`# Many\n${blocks(1_000)}`).blocks.length, 1_000)
  const { template, faults } = parse(`# Too many\n${blocks(5_000)}`)
  assert.equal(template, null)
  assert.deepEqual(places(faults), ['3002:8 too_many_blocks'])
  assert.match(faults[0]!.message, /"b1000".* 5000/)
  assert.match(faults[0]!.remedy, /At most 1000 /)
})

test('every setting is read', () => {
  const template = good(`---
id: sales
title: Sales
description: What sold.
tags: [a, b]
sources:
  orders: { file: orders/*.csv, columns: { zip: varchar } }
time_zone: Europe/Berlin
limits: { timeout: 5m, memory: 512MB, threads: 2, rows: 100, output: 1MB }
charts: text
deliver_if: big.size > 0
lineage: none
---
body`)
  assert.equal(template.template_id, 'sales')
  assert.deepEqual(template.sources, [
    {
      name: 'orders',
      connection: null,
      file: 'orders/*.csv',
      query: null,
      columns: { zip: 'varchar' },
      dialect: {},
      rows: null,
      line: 7,
      column: 19,
    },
  ])
  assert.deepEqual(template.limits, {
    timeout_ms: 300_000,
    memory_bytes: 512_000_000,
    threads: 2,
    rows: 100,
    output_bytes: 1_000_000,
  })
  assert.deepEqual(template.deliver_if, { expression: 'big.size > 0', line: 11 })
  assert.equal(template.lineage, false)
})

test('named fences are taken out, and every line keeps its number', () => {
  const template = good(
    '# T\n\n```sql daily\nselect 1\n```\n\n  ~~~analysis odd\n  method: describe\n  of: daily\n  value: n\n  ~~~\nlast',
  )
  assert.deepEqual(template.blocks[0], { kind: 'sql', name: 'daily', sql: 'select 1', line: 4 })
  const odd = template.blocks[1]!
  assert.ok(odd.kind === 'analysis')
  assert.deepEqual([odd.method, odd.of, odd.options], ['describe', 'daily', { value: 'n' }])
  assert.deepEqual(odd.lines, { method: 8, of: 9, value: 10 })
  const lines = template.body.split('\n')
  assert.equal(lines.length, 12)
  assert.equal(lines[11], 'last')
  assert.equal(lines.filter((line) => line !== '').length, 2)
})

test('other fences, and what stands in comments or raw, are prose', () => {
  const source = [
    '````markdown',
    '```sql inner',
    'select 1',
    '```',
    '````',
    '```sql',
    'select prose',
    '```',
    '{% comment %}',
    '```sql hidden',
    'select 2',
    '```',
    '{% endcomment %}',
    '{% raw %}',
    '```sql shown',
    '{{ not liquid',
    '```',
    '{% endraw %}',
  ].join('\n')
  assert.deepEqual(good(source).blocks, [])
})

test('an unknown key is named with the nearest known one, at its place', () => {
  const { faults } = parse('---\ntitel: x\nvariables:\n  a:\n    type: string\n    requird: true\n---\n')
  assert.deepEqual(places(faults), ['2:1 unknown_key', '6:5 unknown_key'])
  assert.match(faults[0]!.remedy, /"title"/)
  assert.match(faults[1]!.remedy, /"required"/)
})

test('faults of the front matter come all at once, each at its place', () => {
  const { faults } = parse(`---
tags: x
time_zone: 5
charts: mermade
limits: { threads: 0 }
variables:
  Bad: { type: string }
  b: { type: text }
sources:
  s: {}
---
`)
  assert.deepEqual(places(faults), [
    '2:7 bad_value',
    '3:12 bad_value',
    '4:9 bad_value',
    '5:20 bad_value',
    '7:3 bad_name',
    '8:14 bad_value',
    '10:3 missing_key',
  ])
})

test('what a schema cannot say is found as well', () => {
  const { faults } = parse(`---
time_zone: Europe/Berln
limits: { timeout: soon }
variables:
  n: { type: integer, min: 5, max: 1 }
  p: { type: period, default: someday }
  c: { type: column }
  d: { type: column, of: ordrs }
  s: { type: string, pattern: "(" }
  x: { type: string, items: date }
  e: { type: string, enum: [a, b], default: c }
  vars: { type: string }
  r: { type: string, required: true, default: a }
sources:
  orders: { file: ../secret.csv }
---
`)
  assert.deepEqual(places(faults), [
    '2:12 bad_value',
    '3:20 bad_value',
    '5:28 bad_value',
    '6:31 bad_value',
    '7:3 missing_key',
    '8:26 unknown_source',
    '9:31 bad_value',
    '10:29 bad_value',
    '11:45 bad_value',
    '12:3 reserved_name',
    '13:32 redundant_key',
    '15:19 bad_path',
  ])
  assert.equal(faults.find(({ code }) => code === 'redundant_key')!.severity, 'warning')
})

test('bad YAML, duplicate keys and bombs of aliases are faults, not outages', () => {
  assert.deepEqual(places(parse('---\na: [\n---\n').faults).length, 1)
  assert.match(parse('---\ntitle: a\ntitle: b\n---\n').faults[0]!.message, /"title" is given twice/)
  const bomb = `---\ntags: &a [x, x]\n${'bcdefgh'
    .split('')
    .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[index]}`).join(', ')}]`)
    .join('\n')}\n---\n`
  const { template, faults } = parse(bomb)
  assert.equal(template, null)
  assert.equal(faults[0]!.code, 'bad_yaml')
  assert.equal(parse('---\ntitle: !!js/function x\n---\n').faults[0]!.code, 'bad_yaml')
})

test('fences with bad names, without an end or with text behind are faults', () => {
  const source = [
    '```sql Daily',
    'x',
    '```',
    '```analysis',
    'x',
    '```',
    '```sql vars',
    'x',
    '```',
    '```sql a b',
    'x',
    '```',
    '```sql hollow',
    '```',
    '```sql open',
    'select 1',
  ].join('\n')
  assert.deepEqual(places(parse(source).faults), [
    '1:8 bad_name',
    '4:4 unnamed_block',
    '7:8 reserved_name',
    '10:8 leftover_text',
    '13:8 empty_block',
    '15:1 unclosed_fence',
  ])
  assert.deepEqual(places(parse('---\ntitle: x\n').faults), ['1:1 unclosed_front_matter'])
})

test('what stands after an SQL block says where it runs and by which days it is kept, or is a fault with the remedy', () => {
  const block = (after: string) => parse(`\`\`\`sql daily at: shop${after}\nselect 1\n\`\`\`\n`)
  const kept = (after: string) => block(after).template?.sources[0]?.query?.partitions?.rules
  assert.equal(block('').template!.sources[0]!.stays, true)
  assert.deepEqual(kept(' day: paid_on reopen: 3d deletes: none'), {
    reopen_days: 3,
    deletes: 'none',
    changed: null,
  })
  assert.equal(kept(' day: paid_on changed: at reopen: 0d deletes: marked')!.changed, 'at')
  for (const wrong of [
    ' day: paid_on',
    ' day: paid_on reopen: 3 deletes: none',
    ' day: paid_on reopen: 3d deletes: some',
    ' day: paid_on reopen: 3d deletes: marked',
    ' day: paid_on reopen: 3d deletes: none changed: at',
    ' day: paid_on day: sent_on reopen: 3d deletes: none',
    ' day: paid_on reopen: 3d deletes: none keep: all',
    ' day: paid_on reopen: 3d deletes: none, please',
  ]) {
    const [fault] = block(wrong).faults
    assert.equal(fault?.code, 'leftover_text', wrong)
    assert.match(fault.remedy, /day: COLUMN reopen: 3d deletes: none, or deletes: marked changed: COLUMN/)
  }
})

test('two blocks or a block and a source cannot share a name', () => {
  const { faults } = parse(
    '---\nsources: { a: { file: a.csv } }\n---\n```sql a\nselect 1\n```\n```sql b\nselect 1\n```\n```sql b\nselect 2\n```\n',
  )
  assert.deepEqual(places(faults), ['4:8 duplicate_name', '10:8 duplicate_name'])
})

test('faults of an analysis block stand on their lines of the source', () => {
  const { faults } = parse(
    '# T\n\n```analysis a\nof: daily\nvalue: [\n```\n\n```analysis b\nmethod: x\n```\n',
  )
  assert.equal(faults[0]!.code, 'bad_yaml')
  assert.ok(faults[0]!.line >= 5 && faults[0]!.line <= 6)
  assert.deepEqual(places(faults.slice(1)), ['9:1 missing_key'])
})

test('liquid that would be dropped silently is a fault with line and column', () => {
  const source = [
    '{{ a b }}',
    '{{ 1e21 }}',
    '{% if a %}',
    '{% table %}',
    '{% chart rows, type "line" %}',
    '{% include "x" %}',
    '{% for x on y %}{% endfor %}',
    '{{ a[b c] }}',
    '{% endunless %}',
    '{% table rows, limt: 5 %}',
    '{% render "gone" %}',
  ].join('\n')
  assert.deepEqual(places(parse(source).faults), [
    '1:6 liquid_syntax',
    '2:4 liquid_syntax',
    '3:1 unclosed_tag',
    '4:1 liquid_syntax',
    '5:16 liquid_syntax',
    '6:1 liquid_syntax',
    '7:10 liquid_syntax',
    '8:8 liquid_syntax',
    '9:1 liquid_syntax',
    '10:16 liquid_syntax',
    '11:1 unknown_partial',
  ])
})

test('liquid in the front matter is checked where it stands', () => {
  const { faults } = parse(
    '---\ntitle: "A {{ vars.x"\ndeliver_if: a ==\nsources: { s: { file: "{{ }}" } }\n---\n',
  )
  assert.deepEqual(places(faults), ['2:1 liquid_syntax', '3:1 liquid_syntax', '4:23 liquid_syntax'])
})

test('partials are reached through others, and a circle is a fault', () => {
  const partials = { a: '{% render "b" %}', b: 'B', c: 'C' }
  assert.deepEqual(Object.keys(reachablePartials('{% render "a" %}', partials)), ['a', 'b'])
  assert.deepEqual(Object.keys(parse("{%- render 'a', x: 1 %}", partials).template!.partials), ['a', 'b'])
  const circle = parse('{% render "a" %}', { a: '{% render "b" %}', b: '{% render "a" %}' })
  assert.deepEqual(
    circle.faults.map(({ code }) => code),
    ['partial_cycle'],
  )
})

test('the version follows the source and the partials in reach, and nothing else', () => {
  const version = templateVersion('{% render "a" %}', { a: '1', b: '2' })
  assert.equal(version, templateVersion('{% render "a" %}', { a: '1', b: 'other' }))
  assert.notEqual(version, templateVersion('{% render "a" %}', { a: '3', b: '2' }))
  assert.notEqual(version, templateVersion('{% render "a" %} ', { a: '1' }))
  assert.equal(templateVersion('a\r\nb', {}), templateVersion('a\nb', {}))
})

test('any text at all gives faults or a template, with places inside the text, and never throws', () => {
  const part = fc.constantFrom(
    '---\n',
    '```sql a\n',
    '```\n',
    '{{ a ',
    '}}',
    '{% if x %}',
    '{% endif %}',
    'variables:\n',
    '  a: { type: string }\n',
    '"',
    '{% raw %}',
    '[',
    ': ',
    '\n',
    'select $a',
    '{%',
    '%}',
    '{% table a, fmt: { b: "c" } %}',
    '\ufeff',
    '\r\n',
    '{% comment %}',
  )
  fc.assert(
    fc.property(
      fc.array(fc.oneof(part, fc.string()), { maxLength: 25 }).map((parts) => parts.join('')),
      (source) => {
        const { template, faults } = parse(source)
        assert.ok(template !== null || faults.length > 0)
        const lines = source.split(/\r\n?|\n/)
        for (const fault of faults) {
          assert.ok(fault.line >= 1 && fault.line <= lines.length + 1, JSON.stringify(fault))
          assert.ok(fault.column >= 1 && fault.message !== '' && fault.remedy !== '')
        }
        if (template) assert.equal(template.body.split('\n').length, lines.length)
      },
    ),
    { numRuns: 500 },
  )
})

/** Returns the milliseconds of processor time of this process, so that the load of the machine does not count. */
const cpuMs = (): number => process.cpuUsage().user / 1000

test('the work on a hostile text grows no faster than the text', () => {
  const count = 15_000
  const line = (text: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => text(index)).join('')
  const texts: Record<string, string> = {
    'unknown keys': `---\n${line((index) => `k${index}:\n`).slice(0, 99_000)}\n---\n# x\n`,
    'keys of one line': `---\nx: {${line((index) => `${index.toString(36)},`).slice(0, 99_000)}}\n---\n# x\n`,
    'the same key': `---\n${'a:\n'.repeat(30_000)}---\n# x\n`,
    brackets: `---\ntags: ${'['.repeat(49_000)}${']'.repeat(49_000)}\n---\n# x\n`,
    variables: `---\nvariables:\n${line((index) => `  v${index}: {type: string}\n`)}---\n# x\n`,
    fences: `# x\n${line((index) => `\`\`\`sql b${index}\nselect 1 as n\n\`\`\`\n`)}`,
  }
  for (const [what, text] of Object.entries(texts)) {
    const began = cpuMs()
    const { faults } = parse(text)
    assert.ok(cpuMs() - began < 3000, what)
    assert.ok(faults.length <= 200, `${what}: ${faults.length} faults`)
  }
  const long = parse(texts.variables!).faults[0]
  assert.match(long?.message ?? '', /has \d+ characters/)
  assert.match(parse(texts.brackets!).faults[0]!.message, /nested too deeply/)
})

test('a heading of nothing but spaces and marks is read in one go', () => {
  const title = (heading: string) => parse(`# ${heading}\n`).template?.title
  const began = cpuMs()
  assert.equal(title(`x${' '.repeat(900_000)}y`)?.length, 900_002)
  assert.ok(cpuMs() - began < 3000)
  for (const [heading, wanted] of Object.entries({
    'a ##': 'a',
    'a##': 'a##',
    'a # b  ': 'a # b',
    '## ': 'the-file',
  }))
    assert.equal(title(heading), wanted, heading)
})

test('what takes the parsers longest is bounded before they read it, and the fault says where', () => {
  const first = (source: string) => {
    const { template_id, partials } = { template_id: 'a', partials: {} }
    return parseTemplate({ template_id, source, partials }).faults[0]
  }
  const deep = (levels: number) => `---\ntags: ${'['.repeat(levels)}${']'.repeat(levels)}\n---\nx\n`
  assert.match(first(deep(65))!.message, /more than 64 brackets/)
  assert.deepEqual([first(deep(65))!.line, first(deep(65))!.column], [2, 71])
  assert.doesNotMatch(first(deep(64))!.message, /nested/)
  assert.doesNotMatch(first(`---\ntags: "${'['.repeat(90)}"\n---\nx\n`)!.message, /nested/)
  const long = first(`---\ntags:\n${'- a\n'.repeat(10_000)}---\nx\n`)!
  assert.equal(long.code, 'too_long')
  assert.match(long.message, /more than 20000 parts/)
  const nested = (levels: number) => `${'{% if 1 %}'.repeat(levels)}x${'{% endif %}'.repeat(levels)}`
  assert.equal(first(nested(100)), undefined)
  assert.match(first(nested(101))!.message, /nested deeper than 100/)
  assert.equal(first('{{ 1 }}'.repeat(20_000)), undefined)
  const many = first(`x\n${'{{ 1 }}'.repeat(20_001)}`)!
  assert.equal(many.code, 'too_long')
  assert.deepEqual([many.line, many.column], [2, 140_001])
  for (const wrong of ['{% x %}', '{{}}', '{% endif %}', '{% endcomment %}']) {
    const { faults } = parseTemplate({ template_id: 'a', source: wrong.repeat(10_000), partials: {} })
    assert.ok(faults.length > 0 && faults.length <= 200, wrong)
  }
})

test('values in tags, characters of analyses and brackets that close nothing are bounded, with their position', () => {
  const first = (source: string) => parse(source).faults[0]
  const list = (count: number) => `x\n{% table rows, columns: [${'"a",'.repeat(count)}] %}`
  assert.equal(first(list(90_000)), undefined)
  const over = first(list(200_000))!
  assert.deepEqual([over.code, over.line], ['too_long', 2])
  assert.match(over.message, /more than 100000 values/)
  assert.match(first('{{ 1 | upcase }}'.repeat(19_000) + list(70_000))!.message, /more than 100000 values/)
  const analyses = (length: number) =>
    Array.from(
      { length: 10 },
      (_, index) => `\`\`\`analysis a${index}\n#${' '.repeat(length)}\n\`\`\`\n`,
    ).join('')
  assert.doesNotMatch(first(analyses(4900))!.message, /characters together/)
  assert.match(first(analyses(5100))!.message, /up to "a9" have more than 50000 characters together/)
  for (const [text, column] of Object.entries({ ']': 7, '[]]': 9, '{ a: 1 }}': 15 })) {
    const fault = first(`---\ntags: ${text}\n---\n`)!
    assert.match(fault.message, /has no opening bracket/)
    assert.deepEqual([fault.line, fault.column], [2, column], text)
  }
})

test('a template of many small parts at the allowed size is read in no time to speak of', () => {
  const texts = [
    `---\ntags: ${'[]'.repeat(9900)}\n---\n`,
    `---\ntags: [${','.repeat(19_900)}]\n---\n`,
    '{{ a.b | fmt: "num0" }} text \n'.repeat(20_000),
    `{% table rows, fmt: {${'a: 1, '.repeat(99_000)}} %}`,
    `{% case 1 %}{% when ${'1, '.repeat(99_000)}1 %}{% endcase %}`,
  ]
  for (const text of texts) {
    const began = cpuMs()
    parse(text)
    assert.ok(cpuMs() - began < 2000, text.slice(0, 40))
  }
})
