/** For tests: an insight whose cells, columns, title, facts, charts, tiles and evidence are hostile texts. */
import type { PageInsight, Table } from '@assay/model/insight'
import { HOSTILE_TEXTS } from '../../../test/hostile/hostile-texts.ts'
import { outcome, render, table } from './render-fixture.ts'

const EACH = `{% for row in cells %}
{{ row.name }}

In a sentence {{ row.name }}, in **{{ row.name }}** and *{{ row.name }}* alike.

- {{ row.name }}

{% endfor %}`

const BODY = `\`\`\`sql cells
select 1
\`\`\`

\`\`\`sql heads
select 1
\`\`\`

\`\`\`sql days
select 1
\`\`\`

\`\`\`analysis review
{ method: compare, of: days, time: day, value: delay, period: week }
\`\`\`

# All of {{ vars.word }}

{{ review.headline }}

${EACH}

{% doubts %}

{% table cells, limit: 1000 %}

{% table heads %}

{% chart cells, type: "bar", x: "name", y: "n", title: vars.word %}

{% chart cells, type: "line", x: "n", y: "n", series: "name" %}

{% fact "word", vars.word %}
`

const SETTINGS = 'title: "Of {{ vars.word }}"\nvariables: { word: { type: string } }'

const says = HOSTILE_TEXTS.join(' ')

/** Tables with the hostile texts as cells and as names of columns. */
export const HOSTILE_TABLES: Record<string, Table> = {
  cells: table(
    { name: 'text', n: 'number' },
    HOSTILE_TEXTS.map((text, index) => [text, index + 1]),
  ),
  heads: table(Object.fromEntries(HOSTILE_TEXTS.map((text) => [text, 'text'])), [
    HOSTILE_TEXTS.map((text) => text),
  ]),
}

/** Returns what a reader of an insight gets, with `word` as its variable. */
export function hostileInsight(word: string = says) {
  const review = outcome({
    headline: says,
    evidence: says,
    notes: [...HOSTILE_TEXTS],
    blockers: HOSTILE_TEXTS.map((text) => ({ code: 'gap', says: text })),
    caveats: [],
  })
  const found = render(BODY, {
    settings: SETTINGS,
    vars: { word },
    blocks: { ...HOSTILE_TABLES, days: table({ day: 'date', delay: 'number' }, []), review },
  })
  const insight: PageInsight = {
    insight_id: '0198',
    template_id: 'hostile',
    template_version: '0123456789abcdef',
    title: found.title,
    markdown: found.markdown,
    charts: found.charts,
    reading: found.reading,
    created_at: '2024-02-03T04:05:06.000Z',
  }
  return { insight, facts: found.facts }
}
