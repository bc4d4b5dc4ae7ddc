import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { chatText } from '@assay/engine/pages/chat-text'
import { shortened } from '@assay/engine/pages/mail-page'
import type { Target } from '@assay/model/subscription'
import { DEFAULT_WORKSPACE as workspace_id } from '@assay/model/token'
import { HOSTILE_TEXTS } from '../../../../test/hostile/hostile-texts.ts'
import { modes, type Receiver, startReceiver } from '../../../../test/servers/receiver.ts'
import { hostileInsight } from '../../../engine/rendering/hostile-fixture.ts'
import { hashToken } from '../../runtime/secrets.ts'
import { compose } from './compose.ts'
import { PUBLIC_URL, startPeople } from './mail-fixture.ts'
import { slackPayload } from './slack.ts'

const open: { close(): Promise<void> }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
})

const PATH = '/services/T0123456/B0123456/s3cr3ts3cr3ts3cr3t'

async function opened(mode: Parameters<typeof startReceiver>[0] = {}) {
  const receiver: Receiver = await startReceiver(mode)
  const people = await startPeople({}, { dispatcher: { random: () => 0 } })
  open.push(receiver, people)
  return { receiver, people, url: `${receiver.url}${PATH}` }
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
type Json = any

const FOUND = {
  title: 'Delays & more',
  markdown:
    '# Delays & more\n\nThe mean was **12 minutes** on [this day](https://example.com/a?b=1&c=2).\n\n## Why\n\n- rain <!channel>\n- *wind*\n\n| a |\n|---|\n| 1 |\n',
  facts: [{ name: 'mean', value: 12, text: '12 min' }],
}

test('a finished job is told with its headline, first findings, facts and the link', async () => {
  const { receiver, people, url } = await opened()
  const webhook = await people.subscribe('slack', { url, link_expires_in: 600 })
  const insight_id = await people.finish(FOUND)
  const arrival = await receiver.next()
  assert.equal(arrival.path, PATH)
  assert.equal(arrival.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(arrival.headers['webhook-signature'], undefined)
  const { text, blocks } = JSON.parse(arrival.body.toString())
  assert.deepEqual(blocks[0], { type: 'header', text: { type: 'plain_text', text: 'Delays & more' } })
  assert.equal(
    blocks[1].text.text,
    'The mean was *12 minutes* on <https://example.com/a?b=1&amp;c=2|this day>.\n\n*Why*\n\n• rain &lt;!channel&gt;\n• _wind_',
  )
  assert.equal(blocks[1].text.verbatim, true)
  assert.deepEqual(blocks[2].fields, [{ type: 'mrkdwn', text: '*mean*\n12 min', verbatim: true }])
  const secret = /^<https:\/\/assay\.example\/links\/([\w-]{43})\|Read the page>$/.exec(
    blocks[3].text.text,
  )?.[1]
  assert.equal((await people.store.findLink(hashToken(secret!)))?.insight_id, insight_id)
  assert.ok(text.startsWith('*Delays &amp; more*\n'))
  assert.ok(text.includes(PUBLIC_URL))
  const kept = await people.told(webhook)
  assert.deepEqual([kept.status, kept.attempts[0]?.status_code], ['delivered', 200])
})

test('the address stands in no record, no event and no log, also where the chat sends it back', async () => {
  const echo = modes.status(500, {}, `no_service ${PATH} s3cr3ts3cr3ts3cr3t`)
  const { people, url } = await opened({ mode: echo })
  const webhook = await people.subscribe('slack', { url })
  await people.finish(FOUND)
  const kept = await people.told(webhook)
  assert.equal(kept.attempts[0]?.status_code, 500)
  assert.match(kept.attempts[0].response!.body, /no_service ••••/)
  const events = await people.store.listEvents({ workspace_id, limit: 50, order: 'newest' })
  assert.doesNotMatch(JSON.stringify([kept, events]) + people.lines.join(''), /s3cr3t/)
})

test('a chat that asks to be left alone is, and a channel that is gone gets no more', async () => {
  const busy = await opened({ mode: modes.status(429, { 'retry-after': '120' }) })
  const webhook = await busy.people.subscribe('slack', { url: busy.url })
  await busy.people.finish(FOUND)
  const kept = await busy.people.told(webhook)
  assert.equal(kept.status, 'pending')
  const wait = Date.parse(kept.next_attempt_at!) - Date.parse(kept.attempts[0]!.started_at)
  assert.ok(wait >= 119_000, `${wait} ms`)
  const gone = await opened({ mode: modes.status(410) })
  const other = await gone.people.subscribe('slack', { url: gone.url })
  await gone.people.finish(FOUND)
  assert.equal((await gone.people.told(other)).status, 'failed')
  const now = await gone.people.store.getWebhook({ workspace_id, webhook_id: other.webhook_id })
  assert.deepEqual([now?.status, now?.disabled_reason], ['disabled', 'The receiver answered 410 (gone).'])
})

test('an address that this service may not reach is not asked', async () => {
  const { people } = await opened()
  const webhook = await people.subscribe('slack', { url: 'http://169.254.169.254/services/s3cr3ts3cr3t' })
  await people.finish(FOUND)
  const kept = await people.told(webhook)
  assert.equal(kept.attempts[0]?.error?.class, 'ssrf_blocked')
  assert.doesNotMatch(JSON.stringify(kept), /s3cr3t/)
})

test('a test and a failed job are told in a few words', async () => {
  const { receiver, people, url } = await opened()
  const webhook = await people.subscribe('slack', { url })
  await people.send(webhook, 'It works <@U1>.')
  const said = JSON.parse((await receiver.next()).body.toString())
  assert.deepEqual(
    said.blocks.map((block: Json) => block.text.text),
    ['This is a test', 'It works &lt;@U1&gt;.'],
  )
  await people.finish({ code: 'memory_exceeded', detail: 'More than 1 GB.' })
  const failed = JSON.parse((await receiver.next()).body.toString())
  assert.match(
    failed.text,
    /^\*Failed: delays\*\nmemory_exceeded: More than 1 GB\.\nThe analysis needed more memory/,
  )
})

test('a message keeps within what a chat takes, whatever the insight holds', () => {
  const long = 'word '.repeat(2000)
  const facts = Array.from({ length: 50 }, (_, index) => ({ name: `${long}${index}`, text: long }))
  const insight = { markdown: Array.from({ length: 99 }, () => long).join('\n\n'), charts: [] } as Json
  const { blocks } = slackPayload({ headline: long, sentences: [long], facts, insight, link: null }) as Json
  assert.ok(blocks.length <= 50)
  for (const block of blocks) {
    assert.ok((block.text?.text.length ?? 0) <= (block.type === 'header' ? 150 : 3000))
    assert.ok((block.fields?.length ?? 0) <= 10)
    for (const field of block.fields ?? []) assert.ok(field.text.length <= 2000)
  }
})

test('a message is made of the text and the facts: the tables behind them stay unread', async () => {
  const { people, url } = await opened()
  const { store, ledger, box } = people
  const webhook = await people.subscribe('slack', { url })
  const insight_id = (await people.finish(FOUND))!
  const unread = Buffer.from('no JSON')
  const composer = {
    ledger,
    box,
    publicUrl: null,
    store: {
      ...store,
      getInsight: () => assert.fail('the whole insight is read'),
      getInsightData: async (of: { workspace_id: string; insight_id: string }) => ({
        ...(await store.getInsightData(of))!,
        tables: unread,
        analyses: unread,
        provenance: unread,
      }),
    },
  }
  const event = { event_id: crypto.randomUUID(), type: 'job.completed' as const, data: { insight_id } }
  const sending = { delivery_id: crypto.randomUUID(), workspace_id, webhook, event, attempt: 1, now: 0 }
  const target: Target = { to: [], url, link_expires_in: null, subject: 'title', attach: null }
  const message = await compose(composer, sending, target)
  assert.deepEqual([message?.headline, message?.facts], [FOUND.title, FOUND.facts])
})

test('a text of 10 MB is read no further than a message may show', () => {
  const blocks = 'a\n\n'.repeat(3_300_000)
  assert.equal(shortened(blocks).markdown, shortened(blocks.slice(0, 200_000)).markdown)
  const whole = 'word '.repeat(4)
  assert.deepEqual(shortened(`${whole}\n\nrest`, whole.length), { markdown: whole, cut: true })
  assert.equal(chatText(`${blocks}end`, 100), chatText(blocks.slice(0, 1000), 100))
  const spent = [1, 2, 3].map(() => {
    const { user } = process.cpuUsage()
    shortened(blocks)
    chatText(blocks, 2900)
    return process.cpuUsage().user - user
  })
  assert.ok(Math.min(...spent) < 150_000, `${spent.join(', ')} microseconds`)
})

test('prose becomes the marks of a chat; what a chat cannot show is left to the page', () => {
  assert.equal(
    chatText('# T\n\na `x<y` *b*\n\n```\ncode\n```\n\n> said\n\n![p](https://e.com/p.png)', 1000),
    'a `x&lt;y` _b_\n\nsaid\n\np',
  )
  assert.equal(
    chatText('## A\n\n| a |\n|---|\n| 1 |\n\n*1 of 3 rows.*\n\n### B\n\n## C\n\n- *c*\n- d', 1000),
    '*C*\n\n• _c_\n• d',
    'no heading without its text, and nothing said of a table that is not there',
  )
  assert.equal(chatText('a\n\n## How this was computed\n\n`daily`: 30 rows', 1000), 'a')
  const rows = '| 1 |\n'.repeat(100_000)
  assert.equal(chatText(`## A\n\n| a |\n|---|\n${rows}\n*9 of 99 rows.*\n\nend`, 1000), '*A*\n\nend')
  assert.equal(chatText('1. one\n2. two\n\nend', 1000), '• one\n• two\n\nend')
  assert.equal(chatText('[x](javascript:alert) [y](#a)', 1000), '[x](javascript:alert) y')
  assert.equal(chatText('a\n\nbbbb\n\nc', 4), 'a')
})

/** Returns the texts in which a chat looks for formatting marks. */
function markedTexts({ text, blocks }: Json): string[] {
  const all = blocks.flatMap((block: Json) => [block.text, ...(block.fields ?? [])]).filter(Boolean)
  const marked = all.filter(({ type }: Json) => type === 'mrkdwn')
  for (const one of marked) assert.equal(one.verbatim, true)
  assert.ok(all.every(({ type }: Json) => type === 'mrkdwn' || type === 'plain_text'))
  return [text, ...marked.map((one: Json) => one.text)]
}

test('no hostile text mentions anybody or makes a link in a chat', () => {
  const link = 'https://assay.example/links/x'
  const { markdown } = hostileInsight().insight
  const insights = [null, { markdown, charts: [] } as Json]
  for (const text of HOSTILE_TEXTS)
    for (const insight of text === HOSTILE_TEXTS[0] ? insights : [null]) {
      const message = { headline: text, sentences: [text], facts: [{ name: text, text }], insight, link }
      for (const said of markedTexts(slackPayload(message)))
        assert.doesNotMatch(said.replaceAll(`<${link}|Read the page>`, ''), /[<>]|&(?!amp;|lt;|gt;)/)
    }
})

test('what is cut for a chat leaves no link and no escaped sign without its end', () => {
  for (let before = 440; before < 500; before += 1) {
    const markdown = `${'a'.repeat(before)} [link](https://a.example/${'b'.repeat(30)}) & ${'c < d '.repeat(9)}end`
    const message = {
      headline: 'x',
      sentences: [],
      facts: [],
      insight: { markdown, charts: [] } as Json,
      link: null,
    }
    for (const said of markedTexts(slackPayload(message)))
      assert.match(said, /^(?:[^<>&]|&amp;|&lt;|&gt;|<https:\/\/a\.example\/b{30}\|[^<>]*>)*$/)
  }
})
