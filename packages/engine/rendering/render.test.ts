import assert from 'node:assert/strict'
import test from 'node:test'
import { chartPlaceholder } from '@assay/model/insight'
import { renderTemplate, renderText, TemplateFault } from './render.ts'
import { type Inputs, lineageOf, markdown, outcome, parsed, RUN, render, table } from './render-fixture.ts'

const daily = table({ day: 'timestamp', n: 'integer', delay: 'number' }, [
  ['2001-04-01T00:00:00', 5, 1.25],
  ['2001-04-02T00:00:00', 1_234_567, null],
  ['2001-04-03T00:00:00', 7, -3.5],
])
const odd = outcome({ points: [{ time: '2001-04-03T00:00:00', value: -3.5, score: 4 }], none: [] })
const blocks = { daily, odd }

/** Returns the fault that rendering throws. Its lines count from the first of the body. */
function faultOf(body: string, given: Inputs = { blocks }) {
  try {
    render(body, given)
  } catch (error) {
    assert.ok(error instanceof TemplateFault, String(error))
    const { line, column, code, message, partial } = error.fault
    return { place: `${partial === null ? line - 4 : line}:${column}`, code, message, partial }
  }
  throw new Error(`nothing was wrong with ${body}`)
}

test('values print without separators: integers whole, nothing for null, days as days', () => {
  assert.equal(
    markdown('{{ daily[1].n }} {{ daily[0].delay }} [{{ daily[1].delay }}] {{ daily[0].day }}', { blocks }),
    '1234567 1.25 [] 2001-04-01',
  )
  assert.equal(
    markdown('{{ vars.a }} {{ vars.b }} {{ vars.c }}', { vars: { a: 0.1, b: true, c: ['x', 'y'] } }),
    '0.1 true x, y',
  )
  assert.equal(markdown('{{ run.started_at }}'), RUN.started_at)
})

test('a double prints with six significant digits, in a table as well, and what round, fmt or a variable gave stays', () => {
  const sums = table({ name: 'text', total: 'number', count: 'integer', price: 'decimal', parts: 'list' }, [
    ['a', 21961.390000000152, 123456789, '1234567.891', [0.1 + 0.2, 7]],
    ['b', -0.000123456789, null, '0.10', null],
    ['c', 1234567.891, -0, null, []],
    ['d', 1e21, 2 ** 53, null, null],
  ])
  const given = { blocks: { sums }, vars: { rate: 1234567.891, cuts: [0.12345678] } }
  const printed: [template: string, text: string][] = [
    [
      '{{ sums[0].total }} {{ sums[1].total }} {{ sums[2].total }} {{ sums[3].total }}',
      '21961.4 -0.000123457 1234570 1e+21',
    ],
    ['{{ sums[0].count }} {{ sums[2].count }} {{ sums[3].count }}', '123456789 0 9007199254740992'],
    ['{{ sums[0].price }} {{ sums[1].price }}', '1234567.891 0.10'],
    [
      '{{ sums[0].total | round: 8 }} {{ sums[2].total | round: 2 }} {{ sums[2].total | round }}',
      '21961.39 1234567.89 1234568',
    ],
    [
      '{{ sums[2].total | round: 2 | append: " EUR" }} {{ sums[2].total | append: " EUR" }}',
      '1234567.89 EUR 1234570 EUR',
    ],
    ['{{ sums[2].total | fmt: "num2" }}', '1,234,567.89'],
    ['{{ 0.1 | plus: 0.2 }} {{ 2 | divided_by: 3 }} {{ 1234567 | times: 3 }}', '0.3 0.666667 3703701'],
    [
      '{{ sums | where: "name", "a" | sum: "total" }} {{ sums | pluck: "total" | join: "; " }}',
      '21961.4 21961.4; -0.000123457; 1234570; 1e+21',
    ],
    [
      '{{ vars.rate }} {{ vars.cuts[0] }} {% if vars.rate > 1234567.8 and vars.cuts[0] < 1 %}yes{% endif %}',
      '1234567.891 0.12345678 yes',
    ],
    [
      '{% assign r = sums[2].total | round: 2 %}{% if r == 1234567.89 %}same{% endif %} {{ r | plus: 0.01 | round: 2 }} {{ r | fmt: "num1" }}',
      'same 1234567.9 1,234,567.9',
    ],
    [
      '{% assign r = 2.5 | round: 1 %}{% for i in (1..r) %}{{ i }}{% endfor %} {{ r | uniq | first }}',
      '12 2.5',
    ],
  ]
  for (const [template, text] of printed) assert.equal(markdown(template, given), text, template)
  const shown = markdown('{% table sums %}', given)
  for (const cell of ['21961.4', '-0.000123457', '1234570', '123456789', '1234567.891', '[0.3,7]']) {
    assert.match(
      shown.replaceAll('\\', ''),
      new RegExp(`\\| +${cell.replace(/[[\].+]/g, '\\$&')} *\\|`),
      cell,
    )
  }
})

test('a row that is not there prints nothing or the default, and an unknown column is a fault all the same', () => {
  const q = table({ x: 'number', day: 'timestamp' }, [])
  const given = {
    blocks: { q, odd: outcome({ points: [], period: null }) },
    vars: { day: '2024-01-01', names: ['a'], at: 3 },
  }
  const printed: [template: string, text: string][] = [
    ['[{{ q[0].x }}{{ q.first.x }}{{ q.last.day }}{{ q[-1].x }}{{ q[vars.at].x }}]', '[]'],
    [
      '{{ q[0].x | default: 0 }} {{ q.first.x | default: "none" }} {{ q | first: "x" | default: 1 }}',
      '0 none 1',
    ],
    ['[{{ q[0].x | fmt: "num1" }}{{ q[0].day | date: "d mmm" }}{{ q[0].x | delta: "num0" }}]', '[]'],
    [
      '[{{ q[0].x | times: 100 | plus: 1 | round: 1 }}{{ 7 | minus: q[0].x }}] {{ q[0].x | divided_by: 7 | default: "no" }}',
      '[] no',
    ],
    ['{% if q[0].x > 0 %}more{% elsif q[0] %}row{% else %}none{% endif %}', 'none'],
    [
      '[{{ odd.points[0].score }}{{ odd.points.last.time }}] {{ odd.points.first.value | default: 0 }}',
      '[] 0',
    ],
    ['{% assign r = q[0] %}[{{ r.x }}] [{{ vars.names[4] }}]', '[] []'],
    ['{% fact "x", q[0].x, fmt: "num0" %}{% table q %}', '*No rows.*'],
  ]
  for (const [template, text] of printed) assert.equal(markdown(template, given), text, template)
  for (const wrong of ['q[0].y', 'q.first.y', 'q.y', 'q["0"].x']) {
    assert.match(faultOf(`{{ ${wrong} }}`, given).message, /There is no "q/, wrong)
  }
})

test('the empty lists of an outcome have the columns that its method describes, and a field that may be left out is null', () => {
  const given = {
    blocks: {
      odd: outcome({ points: [], tested: [], period: null }),
      rise: outcome({ direction: 'none', p: 1 }),
    },
    settings: 'sources: { s: { file: a.csv } }\n',
  }
  const body =
    '```analysis odd\nmethod: anomalies\nof: s\ntime: t\nvalue: v\n```\n```analysis rise\nmethod: trend\nof: s\ntime: t\nvalue: v\n```\n'
  assert.equal(markdown(`${body}[{{ odd.points[0].score }}{{ rise.p_adjusted }}]`, given), '[]')
  assert.match(faultOf(`${body}{{ odd.points[0].scor }}`, given).message, /no "odd\.points\.0\.scor"/)
})

test('doubts are listed once each, blockers first and in bold, and escaped', () => {
  const says = (...texts: string[]) => texts.map((text) => ({ code: 'x', says: text }))
  const given = {
    blocks: {
      a: outcome({ blockers: [], caveats: says('Two days <b>.', 'Shared.') }),
      b: outcome({ blockers: says('Broken.'), caveats: says('Shared.') }),
      c: outcome({ blockers: [], caveats: [] }),
      rows: table({ n: 'integer' }, [[1]]),
    },
  }
  assert.equal(markdown('x {% doubts %}', given), 'x\n\n- **Broken.**\n- Two days &lt;b>.\n- Shared.')
  assert.equal(markdown('{% doubts [b, c] %}', given), '- **Broken.**\n- Shared.')
  assert.equal(markdown('[{% doubts c %}]', given), '[]')
  assert.match(faultOf('{% doubts rows %}', given).message, /doubts needs analyses/)
})

test('a condition of delivery over an outcome without points does not hold', () => {
  const odd = outcome({ points: [] })
  for (const condition of [
    'odd.points.last.time >= vars.day',
    'odd.points[0].score > 3',
    'odd.points.first.value < 3 or odd.points.size > 0',
  ]) {
    const { delivers } = render('text', {
      blocks: { odd },
      vars: { day: '2024-01-01' },
      settings: `deliver_if: ${JSON.stringify(condition)}\n`,
    })
    assert.equal(delivers, false, condition)
  }
})

test('facts keep every digit of a number, also of one that was rounded for print', () => {
  const sums = table({ total: 'number' }, [[21961.390000000152]])
  const { facts } = render(
    '{% fact "all", sums[0].total %}{% assign r = sums[0].total | round: 1 %}{% fact "rounded", r %}',
    { blocks: { sums } },
  )
  assert.deepEqual(facts, [
    { name: 'all', value: 21961.390000000152, text: '21961.4' },
    { name: 'rounded', value: 21961.4, text: '21961.4' },
  ])
})

test('rows have size, columns and truncated, and size counts what was not kept', () => {
  const cut = { ...daily, total: 3214 }
  assert.equal(
    markdown(
      '{{ daily.size }} {{ daily | size }} {{ daily.truncated }} {{ daily.columns }} {{ odd.points.size }} {{ odd.none.size }}',
      {
        blocks: { daily: cut, odd },
      },
    ),
    '3214 3214 true day, n, delay 1 0',
  )
})

test('filters reduce columns; nulls are left out', () => {
  assert.equal(
    markdown(
      '{{ daily | sum: "n" }} {{ daily | mean: "delay" }} {{ daily | min: "delay" }} {{ daily | max: "day" }}',
      { blocks },
    ),
    '1234579 -1.125 -3.5 2001-04-03',
  )
  assert.equal(
    markdown(
      '{{ daily | first: "n" }} {{ daily | last: "n" }} {{ daily | pluck: "n" }} {{ odd.points | first: "score" }}',
      { blocks },
    ),
    '5 7 5, 1234567, 7 4',
  )
  assert.equal(
    markdown('{{ odd.none | sum: "x" }} [{{ odd.none | mean: "x" }}]', { blocks: { odd } }),
    '0 []',
  )
})

test('money and big integers keep their digits, and compare by value', () => {
  const money = table({ amount: 'decimal', id: 'integer' }, [
    ['10.10', '9007199254740993'],
    ['9.95', 3],
  ])
  const given = { blocks: { money } }
  assert.equal(
    markdown('{{ money | sum: "amount" }} {{ money[0].id }} {{ money[0].id | plus: 1 }}', given),
    '20.05 9007199254740993 9007199254740994',
  )
  assert.equal(
    markdown('{% if money[0].amount > money[1].amount %}more{% endif %} {{ money | max: "amount" }}', given),
    'more 10.10',
  )
  assert.equal(
    markdown(
      '{{ 0.1 | plus: 0.2 }} {{ money[0].amount | times: 3 }} {{ 7 | divided_by: 2 }} {{ 2.5 | round }}',
      given,
    ),
    '0.3 30.3 3.5 3',
  )
})

test('fmt and delta print numbers for readers', () => {
  assert.equal(
    markdown(
      '{{ daily | sum: "n" | fmt: "num0" }} {{ 0.123 | fmt: "pct1" }} {{ 3.14 | delta: "num1" }} {{ -2 | delta }} {{ 0 | delta }}',
      { blocks },
    ),
    '1,234,579 12.3 % +3.1 -2 0',
  )
})

test('dates print by a pattern, and nothing knows what now is', () => {
  assert.equal(
    markdown('{{ daily[0].day | date: "d mmmm yyyy" }} {{ run.started_at | date: "mmm-yy" }}', { blocks }),
    '1 April 2001 Mar-24',
  )
  assert.match(faultOf('{{ "now" | date: "yyyy" }}').message, /needs a date/)
})

test('the patterns that Liquid has for dates work as well', () => {
  const vars = { t: '2024-03-05T14:07:09Z' }
  assert.equal(
    markdown('{{ vars.t | date: "%A, %-d %B %Y, %H:%M:%S / %-I %p" }}', { vars }),
    'Tuesday, 5 March 2024, 14:07:09 / 2 PM',
  )
  assert.equal(markdown('{{ vars.t | date: "%d.%m.%y %H:%M is %b" }}', { vars }), '05.03.24 14:07 is Mar')
  assert.match(faultOf('{{ vars.t | date: "%Q" }}', { vars }).message, /not a date pattern/)
})

test('what comes from data is escaped, once, unless raw says otherwise', () => {
  const vars = { x: '**a** | <b> ![c](http://d)' }
  const escaped = '\\*\\*a\\*\\* \\| &lt;b> !\\[c\\](http\\://d)'
  assert.equal(markdown('{{ vars.x }}', { vars }), escaped)
  assert.equal(markdown('{{ vars.x | escape }}', { vars }), escaped)
  assert.equal(markdown('{% echo vars.x %}', { vars }), escaped)
  assert.equal(markdown('{{ vars.x | raw }}', { vars }), vars.x)
  assert.equal(markdown('{% capture y %}{{ vars.x }}{% endcapture %}{{ y }}', { vars }), escaped)
  assert.equal(
    markdown('{{ odd.summary }}', { blocks: { odd: outcome({ summary: 'a_ <i>' }) } }),
    'a\\_ &lt;i>',
  )
})

test('control tags alone on a line leave no line behind', () => {
  const body =
    '| day |\n|---|\n{% for row in daily %}\n{% assign d = row.day %}\n| {{ d }} |\n{% endfor %}\nend {% if true %}a{% endif %}\nnext'
  assert.equal(
    markdown(body, { blocks }),
    '| day |\n|---|\n| 2001-04-01 |\n| 2001-04-02 |\n| 2001-04-03 |\nend a\nnext',
  )
})

test('what is unknown is neither less nor greater', () => {
  const compared = (operator: string) =>
    markdown(
      `{% if daily[1].delay ${operator} 1 %}a{% endif %}{% if 1 ${operator} daily[1].delay %}b{% endif %}-`,
      {
        blocks,
      },
    )
  for (const operator of ['<', '<=', '>', '>=']) assert.equal(compared(operator), '-', operator)
  assert.equal(
    markdown('{% if daily[1].delay == null and daily[0].delay > 1 %}yes{% endif %}', { blocks }),
    'yes',
  )
  assert.equal(
    markdown('{% if daily[0].n < 7 and daily[2].delay <= -3.5 %}yes{% endif %}', { blocks }),
    'yes',
  )
})

test('tables are aligned, formatted, and say what was cut', () => {
  assert.equal(
    markdown(
      '{% table daily, limit: 2, columns: { day: "Day", delay: "Minutes late" }, fmt: { delay: "num1" } %}',
      { blocks },
    ),
    '| Day        | Minutes late |\n| ---------- | -----------: |\n| 2001-04-01 |          1.3 |\n| 2001-04-02 |              |\n\n*2 of 3 rows.*',
  )
  assert.equal(markdown('{% table odd.none %}', { blocks }), '*No rows.*')
  const total = markdown('{% table daily, limit: vars.top, fmt: "num0", align: { n: "left" } %}', {
    blocks: { daily: { ...daily, total: 3214 } },
    vars: { top: 1 },
  })
  assert.match(total, /\| 5 {3}\| {5}1 \|\n\n\*1 of 3,214 rows\.\*$/)
})

test('cells cannot break a table', () => {
  const wild = table({ 'a|b': 'text' }, [['x | y\nz'], ['`<img src=x>`']])
  const text = markdown('{% table wild %}', { blocks: { wild } })
  assert.deepEqual(
    text.split('\n').map((line) => line.match(/(?<!\\)\|/g)!.length),
    [2, 2, 2, 2],
  )
})

test('a chart becomes a placeholder with its specification', () => {
  const { markdown: text, charts } = render(
    'Before {% chart daily, type: "line", x: "day", y: "delay", title: "T" %} after',
    { blocks },
  )
  assert.equal(text, `Before\n\n${chartPlaceholder('chart-1')}\n\n after\n`)
  assert.equal(charts[0]!.block, 'daily')
  assert.deepEqual((charts[0]!.spec.data as { values: unknown }).values, [
    { x: '2001-04-01', y: 1.25 },
    { x: '2001-04-02', y: null },
    { x: '2001-04-03', y: -3.5 },
  ])
})

test('facts are printed and recorded', () => {
  const { markdown: text, facts } = render(
    '{% fact late, daily | mean: "delay", fmt: "num1" %} {% fact "most", daily | max: "n" %}',
    { blocks },
  )
  assert.equal(text, '-1.1 1234567\n')
  assert.deepEqual(facts, [
    { name: 'late', value: -1.125, text: '-1.1' },
    { name: 'most', value: 1_234_567, text: '1234567' },
  ])
})

test('a block shows its SQL in a fence that holds it', () => {
  const template = parsed("---\nlineage: none\n---\n````sql a\nselect '```'\n````\n{% sql a %}")
  const { markdown: text } = renderTemplate(template, {
    vars: {},
    run: RUN,
    blocks: new Map(),
    lineage: lineageOf(template),
  })
  assert.equal(text, "````sql\nselect '```'\n````\n")
})

test('partials see what they are given, vars and blocks, and nothing of their caller', () => {
  const partials = {
    row: '{{ label }}: {{ vars.x }} {{ daily.size }}{% assign leak = 1 %}',
    peek: '{{ local }}',
  }
  const given = { partials, blocks, vars: { x: 1 } }
  assert.equal(markdown('{% assign local = 2 %}{% render "row", label: daily[0].n %}', given), '5: 1 3')
  const fault = faultOf('{% assign local = 2 %}\n{% render "peek" %}', given)
  assert.deepEqual([fault.partial, fault.place], ['peek', '1:4'])
  assert.equal(faultOf('{% render "row", label: 1 %}{{ leak }}', given).code, 'unknown_name')
})

test('faults have line and column', () => {
  assert.deepEqual(faultOf('a\n{{ daily[0].dely }}'), {
    place: '2:4',
    code: 'unknown_name',
    message: 'There is no "daily.0.dely".',
    partial: null,
  })
  assert.equal(faultOf('\n\n{% table daily, limit: vars.gone %}').place, '3:24')
  assert.match(faultOf('{{ daily | sum: "m" }}').message, /no column "m"/)
  assert.match(faultOf('{{ daily }}').message, /cannot be printed/)
  assert.match(faultOf('{{ odd }}').message, /cannot be printed/)
  assert.match(faultOf('{{ daily[0].day | fmt: "num0" }}').message, /needs a number/)
  assert.match(faultOf('{% chart daily, x: "day", y: "dely" %}').message, /no column "dely"/)
  assert.match(faultOf('{% chart odd.summary, x: "day", y: "n" %}').message, /needs rows/)
  assert.match(faultOf('{% fact a, 1 %}{% fact a, 2 %}').message, /twice/)
  assert.match(faultOf('{{ daily | shuffle }}').message, /no filter/)
  assert.match(faultOf('{{ 1 | divided_by: 0 }}').message, /by zero/)
})

test('nothing of JavaScript can be reached', () => {
  for (const path of [
    'daily.constructor',
    'daily[0].constructor',
    'daily.__proto__',
    'vars.toString',
    'run.constructor',
    'daily.map',
  ]) {
    assert.equal(faultOf(`{{ ${path} }}`, { blocks, vars: { a: 1 } }).code, 'unknown_name', path)
  }
})

test('columns may have any name', () => {
  const strange = table({ __proto__x: 'integer', size: 'integer', 'a b': 'integer' }, [[1, 2, 3]])
  assert.equal(
    markdown('{{ s[0].size }} {{ s[0]["a b"] }} {{ s | sum: "a b" }}', { blocks: { s: strange } }),
    '2 3 3',
  )
  const proto = table(JSON.parse('{"__proto__": "integer"}'), [[7]])
  assert.equal(markdown('{{ s | sum: "__proto__" }}', { blocks: { s: proto } }), '7')
})

test('a loop without end is stopped, and so is Markdown beyond limits.output', () => {
  assert.match(faultOf('{% for i in (1..100000000) %}x{% endfor %}').message, /limit exceeded/)
  const fault = faultOf('{% for i in (1..10000) %}{{ "0123456789" }}{% endfor %}', {
    settings: 'limits: { output: 10kB }',
  })
  assert.equal(fault.code, 'output_too_large')
})

test('deliver_if decides whether anyone is told', () => {
  const when = (expression: string): boolean =>
    render('x', { blocks, settings: `deliver_if: ${JSON.stringify(expression)}` }).delivers
  assert.equal(when('odd.points.size > 0'), true)
  assert.equal(when('odd.none.size > 0'), false)
  assert.equal(when('daily.size > 2 and odd.n == 3'), true)
  assert.equal(render('x').delivers, true)
  assert.deepEqual(faultOf('x', { blocks, settings: 'deliver_if: gone > 0' }).code, 'unknown_name')
})

test('the title is plain text on one line', () => {
  const given = { vars: { x: 'a | b\n*c*' } }
  assert.equal(render('text', { ...given, settings: 'title: "T {{ vars.x }}"' }).title, 'T a | b *c*')
  assert.equal(render('# H {{ vars.x }} {{ daily.size }}', { ...given, blocks }).title, 'H a | b *c* 3')
  assert.equal(render('text').title, 'test')
})

test('text of the front matter sees vars alone', () => {
  const where = { line: 7, column: 9 }
  assert.equal(renderText('sales/{{ vars.f }}.csv', { f: 'a_b*' }, where), 'sales/a_b*.csv')
  assert.throws(
    () => renderText('{{ run.started_at }}', {}, where),
    (error: TemplateFault) => error.fault.line === 7 && error.fault.column === 9,
  )
})

test('empty lines in a row become one, except inside fences', () => {
  assert.equal(markdown('\n\na\n\n\n\nb\n```\nc\n\n\nd\n```\n\n\n'), 'a\n\nb\n```\nc\n\n\nd\n```')
})

test('the lineage section says what was read and asked, and no times', () => {
  const template = parsed(
    '---\nvariables: { p: { type: period, default: last_month } }\n---\nBody {{ vars.p }}\n```sql a\nselect 1\n```\n```analysis b\nmethod: describe\nof: a\n```\n',
  )
  const period = { start: '2024-02-01', end: '2024-03-01', label: '2024-02-01 to 2024-02-29', previous: {} }
  const { markdown: text } = renderTemplate(template, {
    vars: { p: period },
    run: RUN,
    blocks: new Map(),
    lineage: {
      ...lineageOf(template),
      variables: { p: period, gone: null },
      sources: [
        {
          name: 's',
          files: [{ path: 'a|b.csv', bytes: 1234, fingerprint: 'f00', modified_at: '2024-02-02T00:00:00Z' }],
          rows: 5000,
          format: 'csv',
        },
      ],
      blocks: [
        { name: 'a', kind: 'sql', sql: 'select 1', rows: 1, elapsed_ms: 31.5 },
        { name: 'b', kind: 'analysis', sql: null, rows: null, elapsed_ms: 77.5 },
      ],
    },
  })
  for (const wanted of [
    'Body 2024-02-01 to 2024-02-29',
    '## How this was computed',
    `\`${template.version}\``,
    '| not given ',
    '5,000',
    '`f00`',
    '`a`: 1 row',
    '```sql\nselect 1\n```',
    'method `describe` of `a`',
  ]) {
    assert.ok(text.includes(wanted), wanted)
  }
  for (const hidden of ['31.5', '77.5', '2024-02-02T00', 'host', '2024-03-15T12'])
    assert.ok(!text.includes(hidden), hidden)
})
