import assert from 'node:assert/strict'
import test from 'node:test'
import { parseTemplate } from '../reading/parse.ts'

const SETTINGS = `---
variables:
  origin: { type: string }
  period: { type: period, default: last_month }
sources: { flights: { file: flights.csv } }
---
`

/** Returns "line:column remedy" of each fault. Line 1 is the first of the body. */
function faultsOf(body: string): string[] {
  const { faults } = parseTemplate({ template_id: 't', source: SETTINGS + body, partials: {} })
  return faults.map(
    ({ line, column, code, message, remedy }) => `${line - 6}:${column} ${code} ${message} ${remedy}`,
  )
}

const sql = (text: string): string => `\`\`\`sql daily\n${text}\n\`\`\`\n`

test('Liquid in SQL is a fault at its place that says what to write, in strings and comments as well', () => {
  const cases: [text: string, fault: RegExp][] = [
    [
      'select * from flights\nwhere origin = {{ vars.origin }}',
      /^3:16 liquid_in_block \{\{ vars\.origin \}\} is not filled in.*Write \$origin:/,
    ],
    [
      "select * from flights where origin = '{{ vars.origin }}'",
      /^2:39 .*Write \$origin: the value is bound, without quotes/,
    ],
    ['select * from flights where date >= {{ vars.period.start }}', /^2:37 .*Write \$period\.start:/],
    ['select * from flights where origin = {{origin}}', /^2:38 .*Write \$origin:/],
    ['select * from flights where origin = {{- vars.origin | upcase -}}', /^2:38 .*Write \$origin:/],
    ['select * from {{ flights }}', /^2:15 .*Write flights: a block or a source is read by its name/],
    ["select * from {{ ref('orders') }}", /^2:15 .*the name of a source or a block above/],
    [
      'select * from flights\n{% if vars.origin %}where origin = $origin{% endif %}',
      /^3:1 .*\[\[ and \.\.\. \$origin \]\]/,
    ],
    ['select * from flights {%- for x in y -%} union all {%- endfor -%}', /^2:23 .*\[\[/],
    ['select 1 -- {{ vars.origin }}', /^2:13 /],
    ['select 1 /* {% if x %} */', /^2:13 /],
  ]
  for (const [text, fault] of cases) assert.match(faultsOf(sql(text))[0] ?? 'none', fault, text)
  const two = faultsOf(sql('select {{ vars.origin }},\n  {{ vars.origin }} from flights'))
  assert.deepEqual(
    two.map((one) => one.split(' ')[0]),
    ['2:8', '3:3'],
  )
})

test('Liquid in the options of an analysis and in the query of a source is a fault', () => {
  const block = '```analysis odd\nmethod: describe\nof: flights\nvalue: {{ vars.origin }}\n```'
  assert.match(
    faultsOf(block)[0]!,
    /^4:8 .*Liquid does not run in an analysis block\. Write \$origin as the whole option/,
  )
  const quoted = block.replace('{{ vars.origin }}', '"{{ vars.origin }}"')
  assert.match(faultsOf(quoted)[0]!, /^4:9 .*Write \$origin as the whole option/)
  const source = `---
variables: { x: { type: string } }
sources:
  orders:
    connection: shop
    query: select * from orders where a = '{{ vars.x }}'
---
`
  const { faults } = parseTemplate({ template_id: 't', source, partials: {} })
  assert.match(`${faults[0]?.line}:${faults[0]?.column} ${faults[0]?.remedy}`, /^6:44 Write \$x:/)
})

test("what only looks like Liquid stays SQL: structs, maps, braces in strings, and a file's path", () => {
  for (const text of [
    "select {'a': {'b': 1}} as s, map {{'a': 1}: {'b': 2}} as m from flights",
    "select * from flights where origin like '{%' or origin like '%}'",
    "select * from flights where origin = '{{' or origin = '}}' or origin like '{%}'",
    "select regexp_matches(origin, '^[{]{2}') from flights",
    'select [[1, 2], [3]] as nested from flights',
  ])
    assert.deepEqual(faultsOf(sql(text)), [], text)
  const source = '---\nvariables: { f: { type: file } }\nsources: { s: { file: "{{ vars.f }}" } }\n---\n'
  assert.deepEqual(parseTemplate({ template_id: 't', source, partials: {} }).faults, [])
})

test('a text full of marks is read once, and its faults are counted', () => {
  for (const text of [
    '{{'.repeat(200_000),
    `${'{{'.repeat(100_000)}%}`,
    '{{ a }} '.repeat(50_000),
    '{%'.repeat(200_000),
  ]) {
    const found = faultsOf(sql(text))
    assert.ok(found.length <= 50)
  }
})
