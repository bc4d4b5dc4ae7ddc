import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { chartPlaceholder, type Insight } from '@assay/model/insight'
import type { Reading } from '@assay/model/reading'
import { SaxesParser } from 'saxes'
import { HOSTILE_TEXTS, UNSEEN } from '../../../test/hostile/hostile-texts.ts'
import { drawChart } from '../charts/drawing/draw.ts'
import { guardSvg } from '../charts/drawing/svg-guard.ts'
import { makeChart } from '../charts/spec.ts'
import { plainLine } from '../printing/escape.ts'
import { hostileInsight } from '../rendering/hostile-fixture.ts'
import { collectionPage } from './collection-page.ts'
import { insightPage } from './insight-page.ts'
import { plainInsightPage } from './plain-page.ts'

const chart = makeChart('chart-1', [{ k: 'a', n: 1 }], {
  type: 'bar',
  x: 'k',
  y: ['n'],
  series: null,
  title: 'A <chart>',
})

function page(markdown: string, svgs: string[] = [], reading: Partial<Reading> | null = null): string {
  const insight = {
    reading: reading && { blockers: [], grade: null, tiles: [], proofs: [], ...reading },
    insight_id: '0198',
    template_id: 't',
    template_version: 'v',
    title: 'A <b>title</b>',
    markdown,
    charts: [chart],
    created_at: '2024-01-01T00:00:00.000Z',
  } as unknown as Insight
  return insightPage(
    insight,
    svgs.map((wide) => ({ wide, narrow: '' })),
  )
}

test('a page stands alone: no script but its own, no loaded address, and a policy that says so', () => {
  const html = page(
    `Text <script>alert(1)</script> <img src=x onerror=y> ![p](https://evil.example/p.png) ![q](data:text/html,x)
[j](javascript:alert(1)) [d](data:text/html,x) [v](vbscript:x) [ok](https://a.example) [m](mailto:a@b.c)
<style>@import 'x'</style>\n\n<iframe src="https://x"></iframe>\n\n${chartPlaceholder('chart-1')}`,
    [
      '<svg><image href="https://evil.example/x"/><script>alert(1)</script><rect onload="x" width="1"/></svg>',
    ],
  )
  assert.match(
    html,
    /content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'"/,
  )
  const body = html.slice(html.indexOf('<main>'), html.indexOf('</main>'))
  assert.ok(!/<(script|img|iframe|style|image|link|object|embed)\b/i.test(body), body)
  assert.ok(!/<[^>]+\son\w+=/i.test(body))
  assert.deepEqual(
    [...body.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1]),
    ['https://evil.example/p.png', 'https://a.example', 'mailto:a@b.c'],
  )
  assert.match(body, /<rect width="1"\/>/)
})

test('the only script is the one that the policy names', () => {
  const html = page(`a\n\n${chartPlaceholder('chart-1')}\n\n| a |\n|---|\n| 1 |`, ['<svg></svg>'])
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((match) => match[1]!)
  assert.equal(scripts.length, 1)
  const hash = createHash('sha256').update(scripts[0]!).digest('base64')
  assert.ok(html.includes(`script-src 'sha256-${hash}'`))
  assert.match(
    scripts[0]!,
    /answerCharts\(document\)\nanswerTables\(document\)\nanswerAnchors\(document\)\nanswerFrame\(window\)/,
  )
})

test('the section Evidence is folded up to the next of its level, and one in a quotation is not', () => {
  const html = page(
    '# T\n\n> ## Evidence\n> said\n\n## Evidence\n\nz = 2\n\n### More\n\nn = 3\n\n## What next\n\nAsk.',
  )
  assert.match(html, /<blockquote>\s*<h2>Evidence<\/h2>\s*<p>said<\/p>\s*<\/blockquote>/)
  assert.match(
    html,
    /<details class="folded"><summary>Evidence<\/summary>\s*<p>z = 2<\/p>\s*<h3>More<\/h3>\s*<p>n = 3<\/p>\s*<\/details>\s*<h2>What next/,
  )
})

test('how it was computed is folded, whatever the text before says', () => {
  const html = page('# T\n\n## How this was computed\n\nby hand\n\n## How this was computed\n\nselect 1')
  assert.match(
    html,
    /<p>by hand<\/p>\s*<details class="computed"><summary>How this was computed<\/summary>\s*<p>select 1<\/p>\s*<\/details>/,
  )
})

test('the title is text, and stands over a text without a heading of its own', () => {
  assert.match(page('text'), /<title>A &#60;b&#62;title&#60;\/b&#62;<\/title>[\s\S]*<h1>A &#60;b/)
  assert.ok(!page('# Own').includes('<h1>A'))
})

test('charts stand where they belong, with their numbers; without a drawing as text', () => {
  const drawn = page(`a\n\n${chartPlaceholder('chart-1')}\n\nb`, ['<svg width="1"></svg>'])
  assert.match(
    drawn,
    /<p>a<\/p>\n<figure class="chart" data-mode="across" data-tips="[^"]+"><div class="drawing wide" role="img" aria-label="A &#60;chart&#62;"><svg width="1"><\/svg><\/div><figcaption>a: 1\.<\/figcaption><\/figure>\n\n<p>b<\/p>/,
  )
  assert.match(
    page(chartPlaceholder('chart-1')),
    /<figure class="chart"><pre tabindex="0">A &#60;chart&#62;\na █{40} 1<\/pre><\/figure>/,
  )
  assert.ok(!page(chartPlaceholder('chart-9')).includes('\u2063'))
})

test('cells are aligned by a class, since the policy forbids style attributes', () => {
  const html = page('| a | b |\n|---|--:|\n| 1 | 2 |')
  assert.match(html, /<td class="short">1<\/td>\n<td class="right short">2<\/td>/)
  assert.ok(!/<[^>]+\sstyle=/.test(html))
})

test('a long table shows its first rows and says how many are left out, wherever it stands', () => {
  const table = (rows: number): string => `| n |\n|--:|\n${'| *7* |\n'.repeat(rows)}`
  const cells = (html: string): number => html.split('<em>7</em>').length - 1
  assert.equal(cells(page(table(500))), 500)
  assert.doesNotMatch(page(table(500)), /left out/)
  const both = page(`${table(501)}\nThen\n\n${table(3)}\n\nend`)
  assert.equal(cells(both), 503)
  assert.equal(both.match(/The first 500 of 501 rows are shown, 1 are left out/g)?.length, 1)
  assert.match(both, /<\/table><\/div>\n<p>The first 500 [^<]*<\/p>\n<p>Then<\/p>/)
  const inside = page(`- ${table(600).replaceAll('\n', '\n  ')}\n\nend`)
  assert.match(inside, /100 are left out\.[^<]*<\/p>\n<\/li>\n<\/ul>\n<p>end/)
  assert.match(page(`\`\`\`\n${table(600)}\`\`\`\n`), /(\| \*7\* \|\n){600}/, 'code is no table')
})

test('a long text is cut between blocks', () => {
  const html = page(`${'- *word*\n'.repeat(5)}\n${`${'word '.repeat(1000)}\n\n`.repeat(250)}`)
  assert.equal(html.split('<p>word ').length - 1, 201)
  assert.match(html, /<\/p>\n<p>The rest is left out here\.[^<]*JSON[^<]*<\/p>\n<\/main>/)
})

test('a page that cannot be laid out is its Markdown, of bounded length', () => {
  const insight = {
    title: 'A <b>',
    markdown: `<i>${'*'.repeat(200_000)}`,
    charts: [],
    reading: null,
    insight_id: '',
  }
  const created_at = '2024-02-03T04:05:06.000Z'
  const html = plainInsightPage({ ...insight, template_id: 't', template_version: 'v', created_at })
  assert.match(html, /<footer>Made on 3 February 2024, 04:05 UTC · template t, version v<\/footer>/)
  assert.match(html, /<h1>A &#60;b&#62;<\/h1>[^]*<pre tabindex="0">&#60;i&#62;\*{199997}<\/pre>/)
  assert.match(html, /<p>The last 3 characters are left out here\./)
})

test('pictures inside the text are shown, others only linked', () => {
  const html = page('![dot](data:image/png;base64,iVBORw0KGgo=) ![far](http://x.example/a.png)')
  assert.match(html, /<img src="data:image\/png;base64,iVBORw0KGgo=" alt="dot">/)
  assert.match(html, /<a href="http:\/\/x\.example\/a\.png"[^>]*>far \(http:\/\/x\.example\/a\.png\)<\/a>/)
})

test('only drawing gets through the guard of SVG', () => {
  assert.equal(
    guardSvg(
      '<svg xmlns="s"><a xlink:href="javascript:x"><text style="x" fill="red">a > b</text></a></svg>',
      'c',
    ),
    '<svg xmlns="s"><text fill="red">a &gt; b</text></svg>',
  )
  assert.equal(guardSvg('<g><foreignObject><b onclick="x">t</b></foreignObject></g>', 'c'), '<g>t</g>')
  assert.equal(guardSvg('<path d="M0"', 'c'), '&lt;path d="M0"')
  assert.equal(
    guardSvg(
      '<clipPath id="clip0"></clipPath><g clip-path="url(#clip0)" fill="url(https://x)"></g>',
      'chart-1',
    ),
    '<clipPath id="chart-1-clip0"></clipPath><g clip-path="url(#chart-1-clip0)"></g>',
  )
})

const TILE = {
  of: 'review',
  label: 'Delay <b>',
  value: 9,
  text: '9 minutes',
  when: null,
  changes: [{ direction: 'down' as const, text: 'down 68 % from May', good: true }],
  target: null,
  note: null,
  doubt: '3 of 7 days have no data.',
  course: { points: [1, null, 3, 2].map((value, at) => ({ at: `${at}`, value })), low: 1, high: 2 },
}

test('blockers stand above the headline, tiles below it, and evidence behind its sentence', () => {
  const proof = {
    block: 'review',
    by: null,
    says: 'It fell.',
    grade: 'likely' as const,
    evidence: 'z = <2>',
    notes: ['A note.'],
    method: 'm',
    of: 'days',
    n: 1200,
  }
  const text = '# T\n\n**It fell.** Much.\n\n- It fell.\n\n## How this was computed\n\n`days`: 3 rows'
  const html = page(text, [], { blockers: ['No <data>.'], tiles: [TILE], proofs: [proof] })
  const places = [
    '<h1>',
    'No &#60;data&#62;.',
    'class="lead"',
    'class="proof"',
    'class="tiles"',
    '<li>It',
    'computed"',
  ]
  const found = places.map((part) => html.indexOf(part))
  assert.ok(!found.includes(-1), String(found))
  assert.deepEqual(
    found,
    found.toSorted((a, b) => a - b),
    'in this order',
  )
  assert.equal(html.split('class="proof"').length, 2, 'once')
  assert.match(
    html,
    /Probably<\/span>[^]*z = &#60;2&#62;[^]*<li>A note\.<\/li>[^]*href="#computed-days"[^]*n = 1,200/,
  )
  assert.match(html, /<p id="computed-days"><code>days<\/code>/)
})

test('a tile tells its change in words and its doubt on its face, and draws its course with a gap', () => {
  const html = page('# T\n\nText', [], { tiles: [TILE] })
  assert.match(
    html,
    /tile doubtful[^]*Delay &#60;b&#62;[^]*9 minutes[^]*class="tile-change good"[^]*Down 68 % from May/,
  )
  assert.match(html, /Doubtful: 3 of 7 days have no data\./)
  assert.match(html, /<path d="M4\.0 [\d.]+M86\.7 [\d.]+L128\.0 [\d.]+"\/>/)
  assert.ok(!/<[^>]+\sstyle=/.test(html))
})

/** Throws for a tag that is not whole, that a page of this kind never has, or that bears an order. */
function assertPlainTags(html: string): void {
  for (const [tag] of html.matchAll(/<[^>]*>?/g)) {
    assert.match(tag, /^<\/?[a-zA-Z][a-zA-Z0-9]*(?:\s+[a-zA-Z][\w:-]*="[^"<>]*")*\s*\/?>$/, tag)
    assert.doesNotMatch(
      tag,
      /^<\/?(?:a|script|img|image|iframe|style|link|object|embed|form|input|base|meta|use|foreignObject)\b/i,
    )
    assert.doesNotMatch(tag.replaceAll(/="[^"]*"/g, '='), /\s(?:on\w+|href|src|style|srcdoc)=/i)
  }
}

test('a page of hostile cells has no tag, address or order of theirs, and its drawings are whole', async () => {
  process.env.TZ = 'UTC'
  const { insight } = hostileInsight()
  const drawings = []
  const strange = ['\\"', 'a\nb', String.raw`C:\u \x`, HOSTILE_TEXTS.join(' ')]
  const named = strange.flatMap((name) =>
    (['line', 'bar', 'pie'] as const).map((type) => {
      const rows = [
        { [name]: 'a', y: 2 },
        { [name]: 'b', y: 4 },
      ]
      const series = type === 'line' ? name : null
      return makeChart('chart-3', rows, { type, x: name, y: ['y'], series, title: plainLine(name) })
    }),
  )
  for (const { spec } of [...insight.charts, ...named]) {
    const svg = await drawChart(spec)
    assert.match(svg, /<path/)
    const parser = new SaxesParser()
    parser.on('error', (error) => assert.fail(error))
    parser.write(svg).close()
    assert.doesNotMatch(svg, UNSEEN)
    drawings.push({ wide: svg, narrow: '' })
  }
  for (const html of [insightPage(insight, drawings), insightPage(insight, []), plainInsightPage(insight)]) {
    const body = html.slice(html.indexOf('<main>'), html.indexOf('</main>') + 7)
    assertPlainTags(body)
    assert.doesNotMatch(body, UNSEEN)
    assert.equal(html.match(/<title>([^<]*)<\/title>/g)?.[0], html.match(/<title>[\s\S]*?<\/title>/g)?.[0])
  }
})

test('the place of a chart in an attribute is none', () => {
  const at = chartPlaceholder('chart-1')
  const html = page(
    `[a](https://a.example "${at}") ![p${at}](data:image/png;base64,AAAA) \`\`${at}\`\`\n\n\`\`\`${at}\nx\n\`\`\``,
    ['<svg></svg>'],
  )
  for (const [tag] of html.slice(html.indexOf('<main>'), html.indexOf('</main>')).matchAll(/<[^>]*>?/g))
    assert.match(tag, /^<\/?[a-z][a-z0-9]*(?:\s+[a-z][\w:-]*="[^"<>]*")*\s*\/?>$/i, tag)
})

test('the page of a collection shows the figure of an insight, but for one that must not be read', () => {
  const figure = { label: 'late flights', value: 27.3, unit: '%', text: '27.3 %' }
  const card = { insight_id: 'i', title: 'Late', headline: null, figure, period: 'June 2001', created_at: '' }
  const page = (grade: 'likely' | 'withheld') =>
    collectionPage({ name: 'Board', description: null, cards: [{ ...card, grade }], addressOf: (id) => id })
  assert.match(page('likely'), /<small>Late flights: 27\.3 % · Probable · June 2001<\/small>/)
  assert.match(page('withheld'), /<small>Must not be read · June 2001<\/small>/)
})

test('a number and its per cent stay on one line, and cells keep the blank that a reader searches for', () => {
  const html = page('Late were **9.8** % to 28.6 % of them, 5 %.\n\n| a |\n|---|\n| 7 % |\n')
  assert.match(html, /9\.8<\/strong>\u00a0% to 28\.6\u00a0% of them, 5\u00a0%\./)
  assert.match(html, />7 %</)
})
