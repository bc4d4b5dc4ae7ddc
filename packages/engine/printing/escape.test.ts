import assert from 'node:assert/strict'
import test from 'node:test'
import { chartPlaceholder } from '@assay/model/insight'
import * as fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { HOSTILE_TEXTS, UNSEEN } from '../../../test/hostile/hostile-texts.ts'
import { hostileInsight } from '../rendering/hostile-fixture.ts'
import { codeSpan, escapeMarkdown, fenced, plainLine } from './escape.ts'

const markdown = new MarkdownIt({ html: true, linkify: true })

/** A text of the characters that mean most in Markdown, mixed with any others. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        ...'# > - + * _ ` ~ | [ ] ( ) ! < & \\ : / = . 1 12. 1) a b www. http:// https://x.y ![x](http://e/p.png) <img src=x> &amp; &lt; <!-- --> --- === ``` ~~~ ** __ || [a]: b@c.d \n \r\n \t'.split(
          ' ',
        ),
        ' ',
        '    ',
        '\n',
        '\n\n',
        '\u2063',
        '\u202e',
        '\u00a0',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
)

function textOf(html: string): string {
  return html
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
}

test('escaped text renders as itself, and as no element at all', () => {
  fc.assert(
    fc.property(text, (given) => {
      const line = plainLine(given)
      const html = markdown.render(escapeMarkdown(given)).trim()
      if (line === '') return assert.equal(html, '')
      const inner = /^<p>([^<]*)<\/p>$/.exec(html)
      assert.ok(inner, `became an element: ${JSON.stringify(given)} -> ${html}`)
      assert.equal(textOf(inner[1]!), line)
    }),
    { numRuns: 3000 },
  )
})

test('escaped text in the cells of a table stays in its cell', () => {
  fc.assert(
    fc.property(text, text, (left, right) => {
      const rows = `| a | b |\n|---|---|\n| ${escapeMarkdown(left)} | ${escapeMarkdown(right)} |`
      const html = markdown.render(rows)
      const cells = [...html.matchAll(/<td>([^<]*)<\/td>/g)].map((match) => textOf(match[1]!))
      assert.deepEqual(cells, [plainLine(left), plainLine(right)], html)
    }),
    { numRuns: 1000 },
  )
})

test('escaped text in the middle of a sentence stays text', () => {
  fc.assert(
    fc.property(text, (given) => {
      const html = markdown.render(`before ${escapeMarkdown(given)} after`).trim()
      assert.match(html, /^<p>[^<]*<\/p>$/)
    }),
  )
})

test('names with underscores stay readable', () => {
  assert.equal(escapeMarkdown('flight_date'), 'flight_date')
  assert.equal(escapeMarkdown('_flight_'), '\\_flight\\_')
})

test('numbers, negative ones too, stay as they are', () => {
  for (const number of ['-1,234.5', '+3', '1e-7', '12.5%', '2001-04-01']) {
    assert.equal(escapeMarkdown(number), number)
  }
})

test('data cannot forge the placeholder of a chart', () => {
  assert.equal(escapeMarkdown(chartPlaceholder('chart-1')), 'chart:chart-1')
  assert.ok(!fenced(chartPlaceholder('chart-1'), 'sql').includes('\u2063'))
})

test('marks that reorder text are removed', () => {
  assert.equal(escapeMarkdown('user\u202Etxt\u061C.exe'), 'usertxt.exe')
})

test('a fence and a code span hold any run of backticks', () => {
  fc.assert(
    fc.property(fc.string(), (given) => {
      const held = /^<pre><code class="language-x">([\s\S]*)\n<\/code><\/pre>$/.exec(
        markdown.render(fenced(`${given}\`\`\`\``, 'x')).trim(),
      )
      assert.ok(held)
      const line = plainLine(`${given}\`\`a`)
      const span = /^<p><code>([\s\S]*)<\/code><\/p>$/.exec(markdown.render(codeSpan(line)).trim())
      assert.equal(span && textOf(span[1]!), line)
    }),
  )
})

test('a fence and a code span hold any number of backticks and line ends', () => {
  const ticks = '` '.repeat(150_000)
  assert.ok(codeSpan(ticks).startsWith('`` ` `'))
  assert.ok(fenced(ticks, 'x').startsWith('```x\n` `'))
  const lines = '\n'.repeat(20_000)
  assert.equal(fenced(`a${lines}b${lines}`, 'x'), `\`\`\`x\na${lines}b\n\`\`\``)
})

test('no hostile text is more than text in Markdown, wherever it stands', () => {
  for (const text of HOSTILE_TEXTS) {
    const line = plainLine(text)
    assert.equal(plainLine(line), line)
    assert.doesNotMatch(line, UNSEEN)
    assert.doesNotMatch(line, /[\t\r\n\u2028\u2029]/)
    const escaped = escapeMarkdown(text)
    if (escaped === '') continue
    for (const [around, tag] of [
      [escaped, 'p'],
      [`a ${escaped} b`, 'p'],
      [`# ${escaped}`, 'h1'],
      [`> a ${escaped}`, 'blockquote'],
      [`- ${escaped}`, 'ul'],
    ] as const) {
      const html = markdown.render(around)
      assert.deepEqual(
        new Set([...html.matchAll(/<(\w+)/g)].map((match) => match[1])),
        new Set(tag === 'ul' ? ['ul', 'li'] : tag === 'blockquote' ? ['blockquote', 'p'] : [tag]),
        around,
      )
    }
    const tokens = markdown.parse(`before\n\n${fenced(text, 'sql')}\n\nafter`, {})
    assert.deepEqual(
      tokens.map(({ type }) => type).filter((type) => !type.startsWith('paragraph')),
      ['inline', 'fence', 'inline'],
    )
    assert.doesNotMatch(fenced(text, 'sql'), UNSEEN)
    const [, inline] = markdown.parse(`a ${codeSpan(text)} b`, {})
    assert.deepEqual(
      inline!.children!.filter(({ type }) => type !== 'text').map(({ type }) => type),
      line === '' ? [] : ['code_inline'],
    )
  }
})

test('a report of hostile cells, columns and sentences has the elements of its template alone', () => {
  const { insight } = hostileInsight()
  const text = insight.markdown.replaceAll(/\u2063chart:chart-[12]\u2063/g, '')
  assert.doesNotMatch(text, UNSEEN)
  assert.doesNotMatch(insight.title, UNSEEN)
  const tokens = markdown.parse(text, {}).flatMap((token) => [token, ...(token.children ?? [])])
  const count = (type: string): number => tokens.filter((token) => token.type === type).length
  for (const type of [
    'html_block',
    'html_inline',
    'link_open',
    'image',
    'fence',
    'code_block',
    'hr',
    'code_inline',
  ])
    assert.equal(count(type), 0, type)
  assert.deepEqual([count('heading_open'), count('table_open')], [1, 2])
  assert.equal(count('tr_open'), 1 + HOSTILE_TEXTS.length + 2)
  assert.equal(count('th_open'), 2 + HOSTILE_TEXTS.length)
  assert.equal(count('td_open'), 3 * HOSTILE_TEXTS.length)
})
