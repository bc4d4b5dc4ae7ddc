/**
 * Prints everything that a template can print to standard output. determinism.test.ts runs it in processes of their
 * own.
 */
import type { Chart } from '@assay/model/insight'
import type { Reading } from '@assay/model/reading'
import { fillCharts } from '../charts/charts.ts'
import { drawChart } from '../charts/drawing/draw.ts'
import { insightPage } from '../pages/insight-page.ts'
import { resolvePeriod } from '../values/period.ts'
import { renderTemplate } from './render.ts'
import { lineageOf, outcome, parsed, table } from './render-fixture.ts'

const source = `---
time_zone: America/Sao_Paulo
variables: { period: { type: period, default: last_30_days } }
---
# Sales until {{ vars.period.label }}
\`\`\`sql daily
select 1
\`\`\`
{{ daily | sum: "amount" | fmt: "usd2" }} {{ daily | mean: "n" | fmt: "num2k" }} {{ daily[0].at | date: "dddd d mmmm yyyy h:mm AM/PM" }}
{{ daily[0].at | fmt: "fulldate" }} {{ 1234567.891 | fmt: "eur1m" }} {{ daily[1].name | upcase }} {{ "ISTANBUL" | downcase }}
{% for row in daily %}- {{ row.name }}: {{ row.n | delta: "num1" }}
{% endfor %}
{% table daily, fmt: { amount: "num1" } %}
{% assign sorted = daily | sort: "name" %}{% table sorted %}
{% chart daily, type: "line", x: "at", y: "n", title: "Über time" %}
{% chart daily, type: "bar", x: "name", y: ["n", "amount"] %}
{% chart daily, type: "histogram", x: "n" %}
\`\`\`analysis odd
method: describe
of: daily
\`\`\`
{% chart odd.points, type: "point", x: "value", y: "value" %}
`

function charts(): { markdown: string; list: Chart[]; reading: Reading } {
  const template = parsed(source)
  const run = { started_at: '2024-03-10T02:30:00.000Z', time_zone: template.time_zone }
  const period = resolvePeriod('last_30_days', run)
  const daily = table({ at: 'timestamp', name: 'text', n: 'number', amount: 'decimal' }, [
    ['2024-03-09T23:30:00', 'İzmir', 1.5, '10.10'],
    ['2024-03-10T02:30:00', 'Ærø', -2.25, '3.30'],
    ['2024-11-03T01:30:00', 'zoo', 1234.5, '999999999999999999.99'],
  ])
  const points = [{ time: '2024-03-10T00:00:00', value: 1 }]
  const result = renderTemplate(template, {
    vars: { period },
    run,
    blocks: new Map([
      ['daily', daily],
      ['odd', outcome({ points })],
    ] as never),
    lineage: { ...lineageOf(template), variables: { period } },
  })
  return { markdown: `${result.title}\n${result.markdown}`, list: result.charts, reading: result.reading }
}

const { markdown, list, reading } = charts()
if (process.argv[2] === 'draw') {
  for (const chart of list) process.stdout.write(`${await drawChart(chart.spec)}\n`)
} else {
  for (const form of ['mermaid', 'text', 'none'] as const) {
    process.stdout.write(`${fillCharts(markdown, list, form)}\n`)
  }
  const insight = {
    insight_id: 'i',
    template_id: 't',
    template_version: 'v',
    title: 'T',
    markdown,
    charts: list,
    reading,
    created_at: '2024-03-09T23:30:00.000Z',
  }
  process.stdout.write(insightPage(insight, []))
}
