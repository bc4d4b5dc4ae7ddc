import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome, PageInsight, Table } from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import type { Reading } from '@assay/model/reading'
import { outcome, render, table } from '../../rendering/render-fixture.ts'
import { insightPage } from '../insight-page.ts'
import { behindPage } from './sheets.ts'

const late = table(
  { airport: 'text', share: 'number', flights: 'integer' },
  Array.from({ length: 300 }, (_, row) => [
    row === 1 ? '\u2063n0\u2063 <b>O|RD</b>' : `airport ${row}`,
    row === 0 ? 0.00112 : (row + 1) / 1000,
    10_000 + row,
  ]),
)
const hidden = table({ secret: 'integer' }, [[4711]])
const points = [
  { time: '2024-01-01', value: 3.25 },
  { time: '2024-02-01', value: 4.125 },
]
const SAYS = 'Late flights are up by 12 in 300 airports, which is clearly more than the 4 of a year ago.'
const trend = outcome({ slope: 0.123456, points, headline: SAYS })

const TEXT = `# Late flights

{% assign last = late | sort: "share" | reverse | first %}
The share is {{ late[0].share | round: 3 }}, and **{{ late[1].flights }}** flights; the last has {{ last.flights }}. It is 15 here.

{{ trend.headline }}

- {{ late[2].flights }}. It begins a line.
- {{ trend.slope | round: 2 }} a month, of {{ late | size }} rows, \`{{ late[3].flights }}\` as code.

[A link of {{ late[4].flights }}](https://example.com/{{ late[4].flights }})

| airport | flights |
|---|--:|
{% for row in late limit: 3 %}| {{ row.airport }} | {{ row.flights }} |
{% endfor %}

{% table trend.points, columns: ["time", "value"] %}
`

interface PageData {
  tables: Record<string, Table>
  analyses: Record<string, Outcome>
  reading?: Reading
}

function pageOf(text: string, { tables, analyses, reading }: PageData, rows = true): string {
  const { markdown, provenance } = render(text, { blocks: { ...tables, ...analyses } })
  const insight = {
    insight_id: '0198',
    template_id: 't',
    template_version: 'v',
    title: 'T',
    markdown,
    charts: [],
    reading: reading ?? null,
    created_at: '2024-01-01T00:00:00.000Z',
  } as unknown as PageInsight
  return insightPage(insight, [], rows ? { tables, analyses, provenance } : undefined)
}

/** Returns each number that is a link: its signs and the text of its place. */
function linksIn(html: string): [signs: string, place: string][] {
  return [...html.matchAll(/<a class="number" href="#([^"]+)"[^>]*>(.*?)<\/a>/g)].map(([, anchor, signs]) => {
    const at = html.indexOf(` id="${anchor}"`)
    assert.ok(at > 0, `${anchor} is in the page`)
    assert.equal(html.indexOf(` id="${anchor}"`, at + 1), -1, `${anchor} is there once`)
    const row = html.slice(
      at,
      html.indexOf(html.slice(at - 3).startsWith('<tr') ? '</tr>' : '</summary>', at),
    )
    return [
      signs!,
      row
        .replace(/^[^>]*>/, '')
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ]
  })
}

const given = { tables: { late, hidden }, analyses: { trend } }

test('each printed number leads to its row or field in the page, and a number of the template to none', () => {
  const html = pageOf(TEXT, given)
  const links = linksIn(html)
  const of = (signs: string): string[] => links.filter(([text]) => text === signs).map(([, place]) => place)
  assert.deepEqual(of('0.001'), ['1 airport 0 0.00112 10000'])
  assert.deepEqual(of('10299'), ['300 airport 299 0.3 10299'], 'a row behind the first 200')
  assert.match(of('0.12')[0]!, /^slope 0\.123456$/)
  assert.match(of('300')[1]!, /late 300 rows$/)
  for (const number of ['12', '300', '4']) assert.match(of(number)[0]!, /^headline Late flights are up/)
  assert.match(of('3.25')[0] ?? '', /^1 2024-01-01 3\.25$/)
  assert.deepEqual(of('15'), [])
  assert.match(html, /201 of 300 rows are shown/)
  assert.match(html, /<strong><a class="number"/)
})

test('links stand in plain text alone, and no sign of theirs is left anywhere', () => {
  const html = pageOf(TEXT, given)
  assert.deepEqual(html.match(/.{0,99}(?:\u2063|%E2%81%A3).{0,99}/g), null)
  assert.match(html, /<code>10003<\/code> as code/)
  assert.match(html, /<a href="https:\/\/example\.com\/10004"[^>]*>A link of 10004<\/a>/)
  assert.match(html, /<ol start="10002">\s*<li>It begins a line/, 'a list stays one')
  assert.doesNotMatch(html, /<b>O/)
})

test('the tables that nothing is printed from are not in the page, and without leave none is', () => {
  assert.doesNotMatch(pageOf(TEXT, given), /4711|secret/)
  const plain = pageOf(TEXT, given, false)
  assert.doesNotMatch(plain, /class="number"|behind the numbers|airport 299/)
})

test('a finding leads to the rows from which it was computed', () => {
  const proof = { says: SAYS, grade: 'firm', evidence: 'e', notes: [], method: 'trend', of: 'late', n: 300 }
  const reading = { blockers: [], grade: null, tiles: [], proofs: [proof] } as unknown as Reading
  const html = pageOf(TEXT, { ...given, reading })
  assert.match(html, /Computed from <a href="#rows-late"><code>late<\/code><\/a>, n = 300/)
  assert.match(html, /Computed from the rows of <a href="#rows-late">/)
})

test('a list is laid out once, however many numbers come from it', () => {
  let looks = 0
  const watched = new Proxy(
    { value: 1 },
    {
      ownKeys(target) {
        looks += 1
        return Reflect.ownKeys(target)
      },
    },
  )
  const analyses = { trend: outcome({ points: [watched, { value: 2 }], headline: SAYS }) }
  const marksOf = (count: number): Mark[] =>
    Array.from({ length: count }, (_, at) => ({
      start: 2 * at,
      end: 2 * at + 1,
      from: [{ block: 'trend', field: 'points', row: at % 2, column: 'value' }],
    }))
  const looksFor = (count: number): number => {
    looks = 0
    behindPage({ tables: {}, analyses, provenance: marksOf(count) }, { charts: [], reading: null })
    return looks
  }
  assert.ok(looksFor(1) > 0)
  assert.equal(looksFor(1000), looksFor(1))
})
