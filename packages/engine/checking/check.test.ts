import assert from 'node:assert/strict'
import test from 'node:test'
import type { Column, ColumnType } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Fault } from '@assay/model/template'
import { METHODS } from '../methods/catalog.ts'
import { integer, moment, number, rowsWith } from '../methods/shared/fields.ts'
import { parseTemplate } from '../reading/parse.ts'
import { checkTemplate, type Inspection, type MethodTable } from './check.ts'

const columns = (types: Record<string, ColumnType>): Column[] =>
  Object.entries(types).map(([name, type]) => ({ name, type, database_type: type }))

const FLIGHTS = columns({ date: 'timestamp', origin: 'text', delay: 'integer' })
const inspection: Inspection = {
  sources: { flights: { columns: FLIGHTS } },
  blocks: { daily: columns({ day: 'date', n: 'integer', delay: 'number', carrier: 'text' }) },
}

const methods: MethodTable = {
  anomalies: {
    options: Type.Object(
      {
        time: Type.String(),
        value: Type.String(),
        period: Type.Optional(Type.Union([Type.Enum(['auto', 'none']), Type.Integer({ minimum: 2 })])),
        max: Type.Optional(Type.Integer({ minimum: 1 })),
      },
      { additionalProperties: false },
    ),
    columns: ({ time, value }) => [
      { option: 'time', column: time as string, numeric: false },
      { option: 'value', column: value as string, numeric: true },
    ],
    fields: { points: rowsWith({ time: moment, value: number, score: number }), period: integer },
  },
}

const SETTINGS = `---
variables:
  origin: { type: string }
  period: { type: period, default: last_month, until: flights.date }
  top: { type: integer, default: 5 }
  by: { type: column, of: flights }
sources:
  flights: { file: flights.csv }
---
`
const DAILY = `\`\`\`sql daily
select * from flights where origin = $origin and date >= $period.start and $top > 0 and $by is null
\`\`\`
`

function check(
  body: string,
  given: { settings?: string; inspection?: Inspection; partials?: Record<string, string> } = {},
): Fault[] {
  const source = `${given.settings ?? SETTINGS}${DAILY}${body}`
  const { template, faults } = parseTemplate({ template_id: 't', source, partials: given.partials ?? {} })
  assert.deepEqual(faults, [])
  return checkTemplate(template!, given.inspection ?? inspection, methods)
}

/** Returns "line:column code" of each fault. Line 1 is the first of the body. */
function places(body: string, given: Parameters<typeof check>[1] = {}): string[] {
  return check(body, given).map(
    ({ line, column, code, partial }) =>
      `${partial ?? ''}${partial === null ? line - 12 : line}:${column} ${code}`,
  )
}

test('a template that uses everything rightly has no faults', () => {
  const body = `# {{ vars.origin | upcase }} {{ vars.period.previous.label }}
{{ daily | sum: "n" | fmt: "num0" }} {{ daily | mean: "delay" | delta: "num1" }} {{ daily[0].day | fmt: "mmm-yy" }}
{% for row in daily %}{{ forloop.index }} {{ row.carrier }} {% if row.n > vars.top %}{{ row.delay | fmt: "num1" }}{% endif %}{% endfor %}
{% assign worst = daily | sort: "delay" | last %}{{ worst.day }} {{ worst.delay | round: 1 }}
{% capture x %}a{% endcapture %}{{ x }} {{ run.started_at | date: "yyyy" }} {{ daily.size }} {{ daily.truncated }}
{% chart daily, type: "bar", x: "carrier", y: ["n", "delay"] %}
{% table daily, columns: { day: "Day" }, fmt: { n: "num0" }, align: "right", limit: vars.top %}
{% fact most, daily | max: "n", fmt: "num0" %}{% sql daily %}{{ odd.summary }} {{ odd.points.size }}
\`\`\`analysis odd
method: anomalies
of: daily
time: day
value: n
period: 7
max: $top
\`\`\`
{% table odd.points %}{% case vars.by %}{% when "origin" %}x{% else %}y{% endcase %}`
  assert.deepEqual(check(body), [])
})

test('unknown names, fields, filters and blocks are found with a proposal', () => {
  const body =
    '{{ dayly.size }}\n{{ vars.orign }}\n{{ vars.period.begin }}\n{{ daily | summ: "n" }}\n{% sql dail %}\n{{ odd }}\n{{ run.now }}\n{{ daily[0].dely }}'
  assert.deepEqual(places(body), [
    '1:4 unknown_name',
    '2:9 unknown_name',
    '3:16 unknown_name',
    '4:12 unknown_filter',
    '5:1 unknown_block',
    '6:4 unknown_name',
    '7:8 unknown_name',
    '8:13 unknown_name',
  ])
  assert.match(check('{{ dayly.size }}')[0]!.remedy, /"daily"/)
  assert.match(check('{{ daily[0].dely }}')[0]!.remedy, /"delay"/)
})

test('columns and types are held against the data', () => {
  const body = `{{ daily | sum: "m" }}
{{ daily | mean: "carrier" }}
{% chart daily, type: "line", x: "dy", y: "carrier" %}
{% chart daily, type: "histogram", x: "carrier" %}
{% table daily, columns: ["day", "nn"], fmt: { day: "num1", zz: "num0" } %}
{{ daily | first: "n" | fmt: "mmm-yy" }}
{{ daily | max: "n" | fmt: "num7" }}
{% for x in vars.top %}{% endfor %}
{{ daily }}
{% table vars.top %}`
  assert.deepEqual(places(body), [
    '1:17 unknown_column',
    '2:18 wrong_type',
    '3:34 unknown_column',
    '3:43 wrong_type',
    '4:39 wrong_type',
    '5:34 unknown_column',
    '5:48 wrong_type',
    '5:61 unknown_column',
    '6:30 wrong_type',
    '7:28 unknown_format',
    '8:13 wrong_type',
    '9:4 wrong_type',
    '10:10 wrong_type',
  ])
})

test('charts and tables are checked for what they need', () => {
  const body =
    '{% chart daily, type: "lien", x: "day" %}\n{% chart daily, type: "histogram", x: "n", y: "n" %}\n{% chart daily, type: "pie", x: "day", y: ["n", "delay"] %}\n{% table daily, align: { n: "middle" } %}'
  assert.deepEqual(places(body), [
    '1:1 missing_argument',
    '1:23 bad_value',
    '2:47 bad_value',
    '3:43 bad_value',
    '4:26 bad_value',
  ])
})

test('each type of chart is held to what it takes, at the place of the argument', () => {
  const faults = (chart: string): string[] =>
    check(`{% chart ${chart} %}`).map(({ column, code, message }) => `${column} ${code} ${message}`)
  assert.deepEqual(faults('daily, type: "heatmap", x: "day", y: "n"'), [
    '1 missing_argument A heatmap needs series, the column of its rows.',
  ])
  assert.deepEqual(faults('daily, type: "interval", x: "carrier", y: "n", low: "n", high: "carrier"'), [
    '73 wrong_type "carrier" is text, not a number.',
  ])
  assert.match(
    faults('daily, type: "interval", x: "carrier", y: "n"').join(),
    /no column "low".*no column "high"/,
  )
  assert.deepEqual(faults('daily, type: "funnel", x: "day", y: "n", by: "carrier"'), [
    '55 bad_value A chart of type "funnel" takes no by.',
  ])
  assert.deepEqual(faults('daily, type: "line", x: "day", y: ["n", "delay"], highlight: "delays"'), [
    '71 unknown_column y has no column "delays" to highlight.',
  ])
  assert.deepEqual(faults('daily, type: "line", x: "day", y: "n", highlight: "n"'), [])
  assert.deepEqual(faults('daily, type: "line", x: "day", y: "n", highlight: "delay"'), [
    '60 bad_value One series has nothing to stand out from.',
  ])
  assert.deepEqual(faults('daily, type: "waterfall", x: "carrier", y: "n", from: daily[0].carrier'), [
    '64 wrong_type from is text, not a number.',
  ])
  assert.match(
    faults('daily, type: "line", x: "n", y: "delay", events: vars.top').join(),
    /events needs rows/,
  )
  const other = inspection.blocks.daily!.filter(({ name }) => name !== 'day')
  const given = { inspection: { ...inspection, blocks: { daily: inspection.blocks.daily!, marks: other } } }
  const marks = '```sql marks\nselect 1\n```\n'
  assert.match(
    check(`${marks}{% chart daily, type: "line", x: "day", y: "n", events: marks %}`, given)[0]!.message,
    /marks has no column for the position of an event/,
  )
  assert.deepEqual(
    check(`${marks}{% chart daily, type: "line", x: "carrier", y: "n", events: marks %}`, given),
    [],
  )
})

test('analyses are held against their method, their block and its columns', () => {
  const block = (text: string): string => `\`\`\`analysis odd\n${text}\n\`\`\``
  assert.deepEqual(places(block('method: anomaly\nof: daily')), ['2:1 unknown_method'])
  assert.deepEqual(places(block('method: anomalies\nof: daly\ntime: day\nvalue: n')), ['3:1 unknown_block'])
  assert.deepEqual(
    places(block('method: anomalies\nof: later\ntime: day\nvalue: n') + '\n```sql later\nselect 1\n```'),
    ['3:1 block_order'],
  )
  assert.deepEqual(places(block('method: anomalies\nof: daily\ntime: dy\nvalue: carrier')), [
    '4:1 unknown_column',
    '5:1 wrong_type',
  ])
  assert.deepEqual(
    places(block('method: anomalies\nof: daily\ntime: day\nvalue: n\nperiod: often\nmaxx: 3\nmax: 0')),
    ['6:1 bad_value', '7:1 unknown_key', '8:1 bad_value'],
  )
  assert.deepEqual(places(block('method: anomalies\nof: daily\ntime: day')), ['2:1 missing_key'])
  assert.deepEqual(places(block('method: anomalies\nof: daily\ntime: day\nvalue: n\nmax: $topp')), [
    '6:1 unknown_variable',
  ])
  assert.match(
    check(block('method: anomalies\nof: daily\ntime: day\nvalue: n\nperiod: often'))[0]!.message,
    /one of "auto", "none".*whole number/,
  )
})

test('fields of an outcome are those of its method', () => {
  const block =
    '```analysis odd\nmethod: anomalies\nof: daily\ntime: day\nvalue: n\n```\n{{ odd.pionts.size }}{{ odd.n }}'
  const faults = check(block)
  assert.equal(faults.length, 1)
  assert.match(faults[0]!.remedy, /"points"/)
})

test('the fields of an outcome are known down to its lists and maps', () => {
  const settings = SETTINGS
  const blocks = [
    ['described', 'method: describe\nof: daily\nvalues: [n, delay]'],
    ['single', 'method: describe\nof: daily\nvalue: n'],
    ['pairs', 'method: correlation\nof: daily\nvalues: [n, delay]'],
    ['odd', 'method: anomalies\nof: daily\ntime: day\nvalue: n'],
    ['ahead', 'method: forecast\nof: daily\ntime: day\nvalue: n'],
    ['test', 'method: ab_test\nof: daily\ngroup: carrier\nvalue: n'],
  ].map(([name, text]) => `\`\`\`analysis ${name}\n${text}\n\`\`\`\n`)
  const faultOf = (prose: string): string => {
    const { template } = parseTemplate({
      template_id: 't',
      source: `${settings}${DAILY}${blocks.join('')}${prose}`,
      partials: {},
    })
    const [fault, ...more] = checkTemplate(template!, inspection, METHODS)
    assert.deepEqual(more, [], prose)
    return fault ? `${fault.column} ${fault.message} ${fault.remedy}` : 'none'
  }
  const right = [
    '{{ described.columns.n.mean }}{{ described.columns["delay"].q1 | fmt: "num1" }}{{ single.mean }}{{ described.notes[0] }}',
    '{{ pairs.pairs[0].pearson }}{{ odd.points.last.score }}{{ odd.points | max: "score" }}{{ ahead.parameters.alpha }}',
    '{% for point in ahead.points %}{{ point.low_95 }}{% endfor %}{% table odd.points, columns: ["time", "value"] %}{{ test.arms[0].mean }}',
    '{% chart ahead.points, type: "line", x: "time", y: ["value", "low_80"] %}{{ odd.points | first: "time" | fmt: "date" }}',
  ]
  for (const prose of right) assert.equal(faultOf(prose), 'none', prose)
  const wrong: [prose: string, fault: RegExp][] = [
    [
      '{{ described.columns[0].mean }}',
      /^22 described\.columns is not a list and has no \[0\]\. Known: n, delay\.$/,
    ],
    ['{{ described.columns.dely.mean }}', /^22 .* has no "dely"\. Did you mean "delay"\? Known: n, delay\.$/],
    [
      '{{ described.columns.n.avg }}',
      /^24 described\.columns\.n has no "avg"\. Known: n, mean, sd, variance/,
    ],
    ['{{ described.mean }}', /^14 described has no "mean"/],
    ['{{ single.columns }}', /^11 single has no "columns"/],
    [
      '{{ pairs.pairs[0].r }}',
      /^19 a row of pairs\.pairs has no "r"\. Known: x, y, n, pearson, spearman, kendall, low/,
    ],
    ['{{ pairs[0].r }}', /^10 pairs is not a list and has no \[0\]\. Known: .*pairs/],
    ['{{ odd.points.first.valu }}', /^21 .*Did you mean "value"\? Known: time, value, expected/],
    ['{{ odd.points | sum: "scor" }}', /^22 odd\.points has no column "scor"\. Did you mean "score"\?/],
    ['{% table odd.points, columns: ["when"] %}', /^32 .*Known: time, value, expected/],
    ['{% for p in odd.points %}{{ p.when }}{% endfor %}', /^31 .*has no "when"/],
    ['{% chart ahead.points, type: "line", x: "time", y: "low" %}', /^52 ahead\.points has no column "low"/],
    ['{{ ahead.points[0].value | fmt: "mmm-yy" }}', /^33 The format mmm-yy is for dates/],
    ['{{ test.arms[0].rate }}', /^17 .*has no "rate"/],
    [
      '{{ ahead.parameters }}',
      /^4 ahead\.parameters cannot be printed whole\. Print one of its fields: alpha, beta, gamma, phi\./,
    ],
    ['{{ odd.n | t_cdf }}', /t_cdf takes df after its name, not 0\. Write t_cdf: df\.$/],
    ['{{ odd.summary | normal_cdf }}', /normal_cdf needs a number, not text\./],
    ['{{ odd.n.x }}', /^10 This is an integer and has no "x"/],
  ]
  for (const [prose, fault] of wrong) assert.match(faultOf(prose), fault, prose)
})

test('an unknown variable in SQL is found where it stands', () => {
  const body = '```sql more\nselect *\nfrom flights where delay > $limt\n```'
  assert.deepEqual(places(body), ['3:28 unknown_variable'])
})

test('what is never used is a warning, and counts as used wherever it is named', () => {
  const settings =
    '---\ntitle: "T {{ vars.a }}"\ndeliver_if: vars.b > 1\nvariables:\n  a: { type: string }\n  b: { type: integer, default: 1 }\n  c: { type: string }\n  d: { type: file, default: x.csv }\nsources:\n  s: { file: "{{ vars.d }}" }\n---\n'
  const { template } = parseTemplate({ template_id: 't', source: settings, partials: {} })
  const faults = checkTemplate(template!, { sources: {}, blocks: {} }, methods)
  assert.deepEqual(
    faults.map(({ line, code, severity }) => [line, code, severity]),
    [
      [7, 'unused_variable', 'warning'],
      [10, 'unused_source', 'warning'],
    ],
  )
})

test('sources that cannot be read, and columns they do not have, are found', () => {
  const settings = SETTINGS.replace('file: flights.csv', 'file: flights.csv, columns: { dat: date }').replace(
    'flights.date',
    'flights.origin',
  )
  assert.deepEqual(places('', { settings }), ['-8:1 wrong_type', '-4:20 unknown_column'])
  const gone: Inspection = { sources: { flights: { error: 'There is no file flights.csv.' } }, blocks: {} }
  assert.deepEqual(places('{{ daily | sum: "anything" }}', { inspection: gone }), [
    '-4:20 source_unavailable',
  ])
})

test('partials are judged with what they are given', () => {
  const partials = { card: '{{ value | fmt: "num1" }}\n{{ vars.top }} {{ other }}' }
  assert.deepEqual(places('{% render "card", value: daily[0].day %}', { partials }), [
    'card1:17 wrong_type',
    'card2:19 unknown_name',
  ])
})

test('a name that a loop gives is gone after it', () => {
  assert.deepEqual(places('{% for row in daily %}{{ row.n }}{% endfor %}{{ row.n }}'), ['1:49 unknown_name'])
})

test('a condition of delivery is checked', () => {
  const settings = SETTINGS.replace('---\nv', '---\ndeliver_if: "gone.points.size > 0"\nv')
  assert.deepEqual(
    check('', { settings }).map(({ line, code }) => [line, code]),
    [[2, 'unknown_name']],
  )
})

test('rows that are compared with a number are found, with their size to compare instead', () => {
  const of = (condition: string): (string | null)[][] =>
    check('', { settings: SETTINGS.replace('---\nv', `---\ndeliver_if: "${condition}"\nv`) })
      .filter(({ message }) => message.startsWith('deliver_if'))
      .map(({ message, remedy }) => [message, remedy ?? null])
  const fault = ['deliver_if: daily are rows, not a number.', 'Compare the size: daily.size.']
  for (const condition of ['daily > 0', 'not 3 <= daily', 'vars.top > 1 and daily == 0'])
    assert.deepEqual(of(condition), [fault], condition)
  for (const condition of ['daily.size > 0', 'daily == empty', 'daily != blank', 'daily[0].n > 1'])
    assert.deepEqual(of(condition), [], condition)
})

test('tiles name what has a figure, each fault at its place with what to write instead', () => {
  const settings = SETTINGS.replace(
    '---\nvar',
    '---\ntiles: [dialy.n, daily, daily.carrier, daily.delai]\nvar',
  )
  const found = check('{{ daily.size }} {{ vars.top }} {{ vars.by }}', { settings })
  assert.deepEqual(
    found
      .filter(({ message }) => message.startsWith('tiles'))
      .map(({ line, message, remedy }) => [line, message, remedy]),
    [
      [2, 'tiles: There is no block "dialy".', 'Did you mean "daily"?'],
      [2, 'tiles: "daily" gives rows, and a tile shows one figure.', 'Name a column: daily.COLUMN.'],
      [2, 'tiles: The column "carrier" of "daily" holds no numbers.', 'Name a numeric column.'],
      [2, 'tiles: "daily" has no column "delai".', 'Did you mean "delay"?'],
    ],
  )
  assert.deepEqual(
    check('', { settings: settings.replace(/tiles: .*/, 'tiles: [daily.delay]') }).filter(
      ({ severity }) => severity === 'error',
    ),
    [],
  )
})
