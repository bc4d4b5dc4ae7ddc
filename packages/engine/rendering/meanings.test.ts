/** Checks that the front matter's words for a column head its table, title its axis and format its cells. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillCharts } from '../charts/charts.ts'
import { render, table } from './render-fixture.ts'

const blocks = { daily: table({ day: 'date', delay: 'number' }, [['2001-06-15', 26.94]]) }
const settings = 'columns: { delay: { label: arrival delay, unit: minutes, fmt: num1 } }'

test('tables take headings and formats from the columns of the front matter, unless they name their own', () => {
  const markdown = (body: string): string => render(body, { blocks, settings }).markdown.trim()
  assert.match(markdown('{% table daily %}'), /\| Day +\| Arrival delay \(minutes\) \|\n.*\n.* 26\.9 \|$/)
  const own = markdown('{% table daily, columns: { delay: "Late" }, fmt: { delay: "num0" } %}')
  assert.equal(own, '| Late |\n| ---: |\n|   27 |')
})

test('axes and series of a chart are titled by the columns of the front matter', () => {
  const drawn = (y: string): string => {
    const { markdown, charts } = render(`{% chart daily, type: "bar", x: "day", y: ${y} %}`, {
      blocks,
      settings,
    })
    return fillCharts(markdown, charts, 'mermaid')
  }
  assert.match(drawn('"delay"'), /x-axis "Day" .*\n {4}y-axis "Arrival delay \(minutes\)"/)
})
