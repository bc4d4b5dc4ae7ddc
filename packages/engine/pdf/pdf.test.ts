import assert from 'node:assert/strict'
import test from 'node:test'
import { chartPlaceholder, type PageInsight } from '@assay/model/insight'
import type { Reading } from '@assay/model/reading'
import { extractText, getDocumentProxy } from 'unpdf'
import { UNSEEN } from '../../../test/hostile/hostile-texts.ts'
import { makeChart } from '../charts/spec.ts'
import { hostileInsight } from '../rendering/hostile-fixture.ts'
import { insightPdf } from './compile.ts'
import { printedDocument } from './document.ts'

const CHART = makeChart('chart-1', [{ k: 'a', n: 1 }], {
  type: 'bar',
  x: 'k',
  y: ['n'],
  series: null,
  title: 'A <chart>',
})
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50" data-places="1,2,3,4"><rect width="50" height="20" fill="#0072b2"/><text x="5" y="40" font-family="system-ui, sans-serif" font-size="12">drawn letters</text><image href="https://evil.example/x.png"/></svg>'

const READING: Reading = {
  blockers: ['Three days are missing.'],
  grade: 'firm',
  tiles: [
    {
      of: 'a.b',
      label: 'Late flights',
      value: 0.273,
      text: '27.3 %',
      when: 'June 2001',
      changes: [{ direction: 'up', text: 'up 3.7 points from May 2001', good: false }],
      target: null,
      note: null,
      doubt: null,
      course: { points: [1, 2, 3].map((value) => ({ at: String(value), value })), low: 1, high: 2 },
    },
  ],
  proofs: [
    {
      block: 'late',
      by: null,
      says: 'More flights were late.',
      grade: 'firm',
      evidence: 'Welch t = 3.1, p = 0.002.',
      notes: ['Cancelled flights are not counted.'],
      method: 'ab_test',
      of: 'days',
      n: 60,
    },
  ],
}

const insightOf = (markdown: string, more: Partial<PageInsight> = {}): PageInsight => ({
  insight_id: '0198',
  template_id: 'flights',
  template_version: '0123456789abcdef',
  title: 'Flüge, αβγ, Привет',
  markdown,
  charts: [CHART],
  reading: null,
  created_at: '2024-02-03T04:05:06.000Z',
  ...more,
})

const MARKDOWN = `# Late flights

More flights were late. That is **bold**, *slanted*, \`code\` and [a link](https://a.example/?b=c).

## Findings

- One
- Two

| origin | late |
|---|--:|
| ATL | 33.6% |
| ORD | 27.3% |

${chartPlaceholder('chart-1')}

## How this was computed

\`\`\`sql
select 1
\`\`\`
`

interface Node {
  role?: string
  alt?: string
  children?: Node[]
}

async function read(pdf: Uint8Array) {
  const document = await getDocumentProxy(new Uint8Array(pdf))
  const { text } = await extractText(document, { mergePages: true })
  const tags: Node[] = []
  const walk = (node: Node): void => {
    tags.push(node)
    node.children?.forEach(walk)
  }
  for (let page = 1; page <= document.numPages; page += 1)
    walk((await (await document.getPage(page)).getStructTree()) as Node)
  const { info, metadata } = await document.getMetadata()
  const marked = await document.getMarkInfo()
  return {
    pages: document.numPages,
    text: text.replaceAll(/\s+/g, ' '),
    roles: new Set(tags.flatMap(({ role }) => role ?? [])),
    alts: tags.flatMap(({ alt }) => alt ?? []),
    info: info as Record<string, unknown>,
    metadata: metadata as unknown as { get(name: string): unknown },
    marked: marked?.Marked,
  }
}

test('a PDF is tagged, has its title, language and fonts, and its text can be selected in the order of the page', async () => {
  const insight = insightOf(MARKDOWN, { reading: READING })
  const pdf = await insightPdf(insight, [{ wide: SVG, narrow: '' }])
  const found = await read(pdf)
  assert.equal(found.marked, true)
  assert.equal(found.info.Title, 'Flüge, αβγ, Привет')
  assert.equal(found.info.Language, 'en')
  assert.deepEqual(
    ['H1', 'H2', 'P', 'L', 'LI', 'Table', 'TR', 'TH', 'TD', 'Figure', 'Link', 'Code'].filter(
      (role) => !found.roles.has(role),
    ),
    [],
  )
  assert.ok(found.alts.includes('A <chart>') && found.alts.some((alt) => alt.startsWith('The last 3 steps')))
  const order = [
    'Late flights',
    'Read this first',
    'Three days are missing.',
    'More flights were late. That is bold, slanted, code and a link. Clearly',
    '27.3 %',
    '↑ Up 3.7 points from May 2001',
    'Findings',
    'ATL 33.6%',
    'drawn letters',
    'a: 1.',
    'The evidence behind each finding',
    'Welch t = 3.1, p = 0.002.',
    'Cancelled flights are not counted.',
    'How this was computed',
    'select 1',
    'Made on 3 February 2024 by Assay from the template flights, version 0123456789ab.',
    '1 of 1',
  ]
  let at = 0
  for (const part of order) {
    const next = found.text.indexOf(part, at)
    assert.ok(
      next >= 0,
      `${part} is not after ${order[order.indexOf(part) - 1] ?? 'the start'}: ${found.text}`,
    )
    at = next
  }
  const raw = Buffer.from(pdf).toString('latin1')
  assert.doesNotMatch(raw, /evil\.example/)
  await insightPdf(insightOf('# Another'), [])
  assert.deepEqual(await insightPdf(insight, [{ wide: SVG, narrow: '' }]), pdf, 'the same bytes')
})

test('hostile text is set as it is: no Typst, no HTML, no address that is loaded, and no depth or length that breaks it', async () => {
  const hostile = `# #read("/etc/passwd") #panic() $x$ <script>

#set page(width: 1pt) \\#eval("1") @label <label> \`#raw\` [j](javascript:alert(1)) ![p](https://evil.example/p.png) ![q](data:image/png;base64,AAAA)
[long](https://a.example/${'a'.repeat(5000)}) \ud800 \u0007 ${'w'.repeat(400)}

${'> '.repeat(60)}deep quote

${Array.from({ length: 40 }, (_, depth) => `${'  '.repeat(depth)}- level ${depth}`).join('\n')}

| ${'h | '.repeat(40)}
| ${'- | '.repeat(40)}
${`| ${'#1 | '.repeat(40)}\n`.repeat(6)}

${chartPlaceholder('chart-9')} ${chartPlaceholder('chart-1')}

\`\`\`
${'#line '.repeat(300)}
\`\`\`
`
  const found = await read(
    await insightPdf(insightOf(hostile, { title: '#panic() </title> \ud800 漢字' }), [
      { wide: '', narrow: '' },
    ]),
  )
  for (const part of ['#read("/etc/passwd") #panic() $x$ <script>', '#set page(width: 1pt)', 'deep quote'])
    assert.ok(found.text.includes(part), `${part}: ${found.text.slice(0, 500)}`)
  assert.match(found.text, /level 0 .*level 39/)
  assert.match(found.text, /p \(https:\/\/evil\.example\/p\.png\) \[q\]/)
  assert.match(found.text, /Boxes stand for letters/)
})

test('a long table shows its first rows and says how many are left out', async () => {
  const rows = Array.from({ length: 400 }, (_, row) => `| row ${row} | ${row} |\n`).join('')
  const { text, pages } = await read(await insightPdf(insightOf(`| a | b |\n|---|--:|\n${rows}`), []))
  assert.match(text, /row 299 299/)
  assert.doesNotMatch(text, /row 300/)
  assert.match(text, /The first 300 of 400 rows are shown, 100 are left out\./)
  assert.ok(pages > 4)
})

test('a document of hostile cells holds no address and nothing unseen, and is set', async () => {
  const { insight } = hostileInsight()
  const document = printedDocument(insight, [])
  JSON.stringify(document, (key, value: unknown) => {
    assert.notEqual(key, 'u', 'a link')
    if (typeof value !== 'string') return value
    // The document itself adds U+200B, at which a long word may break.
    assert.doesNotMatch(value.replaceAll('\u200b', ''), UNSEEN)
    if (key !== 'text') assert.doesNotMatch(value, /[\r\n\t]/)
    return value
  })
  const pdf = await getDocumentProxy(new Uint8Array(await insightPdf(insight, [])))
  for (let page = 1; page <= pdf.numPages; page += 1) {
    const links = (await (await pdf.getPage(page)).getAnnotations()) as { url?: string }[]
    assert.deepEqual(
      links.flatMap(({ url }) => url ?? []),
      [],
    )
  }
})
