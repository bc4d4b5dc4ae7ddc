import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Insight } from '@assay/model/insight'
import * as fc from 'fast-check'
import { drawPicture } from '../charts/drawing/picture.ts'
import { renderTemplate } from '../rendering/render.ts'
import { lineageOf, parsed, RUN } from '../rendering/render-fixture.ts'
import { insightBody } from './insight-page.ts'
import { type Message, mailFigures, mailMarkdown, mailPage, mailText, shortened } from './mail-page.ts'

const FOOT = {
  why: 'You get this because of <us>.',
  unsubscribe: 'https://assay.example/unsubscribe/x?a="b"',
}
const PLAIN: Message = {
  headline: 'Failed: <delays>',
  sentences: ['timed_out: it took "long" & more.'],
  facts: [],
  insight: null,
  link: 'https://assay.example/links/x',
}

function pageOf(message: Message): string {
  const { markdown, cut } = mailMarkdown(message)
  const body = insightBody(markdown, message.insight?.charts ?? [], mailFigures(new Map()))
  return mailPage(message, { body, cut }, FOOT)
}

test('what comes from data is text in both parts, and the link stands at the top', () => {
  const page = pageOf(PLAIN)
  assert.match(
    page,
    /<h1>Failed: &#60;delays&#62;<\/h1>\n<p class="open"><a href="https:\/\/assay\.example\/links\/x">/,
  )
  assert.match(page, /it took &#34;long&#34; &#38; more\./)
  assert.match(page, /of &#60;us&#62;\. <a href="https:\/\/assay\.example\/unsubscribe\/x\?a=&#34;b&#34;">/)
  assert.equal(
    mailText(PLAIN, FOOT),
    'Failed: <delays>\n\ntimed_out: it took "long" & more.\n\nhttps://assay.example/links/x\n\n-- \nYou get this because of <us>.\nUnsubscribe: https://assay.example/unsubscribe/x?a="b"\n',
  )
})

/** Makes an insight of a template with one block of SQL, which its prose may show. */
function messageOf(prose: string, settings = ''): Message {
  const template = parsed(
    `---\n${settings}\n---\n# Delays\n\n${prose}\n\n\`\`\`sql secret\nselect 42\n\`\`\`\n`,
  )
  const lineage = {
    ...lineageOf(template),
    variables: { region: 'north' },
    blocks: [{ name: 'secret', kind: 'sql' as const, sql: null, rows: 1, elapsed_ms: 1 }],
  }
  const { markdown, charts } = renderTemplate(template, { vars: {}, run: RUN, blocks: new Map(), lineage })
  const { template_id, version: template_version } = template
  const insight = { template_id, template_version, markdown, charts, lineage } as unknown as Insight
  return { ...PLAIN, headline: 'Delays', sentences: [], insight }
}

test('a mail says what was found, and leaves to the page how it was computed', () => {
  const message = messageOf('All on time.')
  assert.match(message.insight!.markdown, /How this was computed[^]*north[^]*select 42/)
  const [page, text] = [pageOf(message), mailText(message, FOOT)]
  for (const part of [page, text]) {
    assert.match(part, /All on time\./)
    assert.doesNotMatch(part, /How this was computed|select 42|north/)
    assert.match(part, /assay\.example\/links\/x[^]*Unsubscribe/)
  }
})

test('what the prose of a template says of its own computing stays in the mail', () => {
  const prose = '## How this was computed\n\nBy hand.\n\n{% sql secret %}'
  for (const settings of ['', 'lineage: none']) {
    const text = mailText(messageOf(prose, settings), FOOT)
    assert.match(text, /## How this was computed\n\nBy hand\.\n\n```sql\nselect 42\n```/)
    assert.doesNotMatch(text, /- Template/)
  }
})

test('a long insight is cut between blocks and never inside a fence', () => {
  const block = fc.oneof(
    fc.stringMatching(/^[a-z ]{1,40}$/),
    fc.stringMatching(/^[a-z]{1,20}$/).map((code) => `\`\`\`sql\n${code}\n\n${code}\n\`\`\``),
  )
  fc.assert(
    fc.property(
      fc.array(block, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 200 }),
      (blocks, most) => {
        const whole = blocks.join('\n\n')
        const { markdown, cut } = shortened(whole, most)
        assert.ok(markdown.length <= Math.max(most, cut ? 0 : whole.length))
        assert.ok(whole.startsWith(markdown))
        assert.equal(cut, markdown !== whole)
        assert.equal((markdown.match(/```/g) ?? []).length % 2, 0)
      },
    ),
  )
})

test('a drawing becomes a PNG of three times its size, within bounds', async () => {
  const svg = (width: number, height: number) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><text x="1" y="12" font-family="sans-serif">Ä λ</text></svg>`
  const sizeOf = (png: Buffer) => [png.readUInt32BE(16), png.readUInt32BE(20)]
  const small = await drawPicture(svg(100, 40))
  assert.equal(small.subarray(1, 4).toString(), 'PNG')
  assert.deepEqual(sizeOf(small), [300, 120])
  assert.deepEqual(sizeOf(await drawPicture(svg(4000, 100))), [2000, 50])
  assert.deepEqual(await drawPicture(svg(100, 40)), small, 'the same bytes each time')
  assert.notDeepEqual(small, await drawPicture(svg(100, 40).replace('Ä λ', '')), 'its letters are drawn')
})
