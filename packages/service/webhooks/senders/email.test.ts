import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { chartPlaceholder } from '@assay/model/insight'
import { CONFIRM_CONTEXT, type Target } from '@assay/model/subscription'
import { DEFAULT_WORKSPACE as workspace_id } from '@assay/model/token'
import PostalMime, { type Email } from 'postal-mime'
import { HOSTILE_TEXTS, UNSEEN } from '../../../../test/hostile/hostile-texts.ts'
import { type MailServerOptions, startMailServer } from '../../../../test/servers/mail-server.ts'
import { makeChart } from '../../../engine/charts/spec.ts'
import { hostileInsight } from '../../../engine/rendering/hostile-fixture.ts'
import { findings, jobInput, sorted } from '../../../store/conformance/given.ts'
import { noteConsents } from '../../outgoing/consents.ts'
import { mailOf } from '../../readers/reader-mail.ts'
import { silentLog } from '../../runtime/log.ts'
import { hashToken, SecretBox } from '../../runtime/secrets.ts'
import { fire } from '../../schedules/firing.ts'
import { compose } from './compose.ts'
import { type People, PUBLIC_URL, startPeople } from './mail-fixture.ts'
import { mailBytes } from './mime.ts'
import type { SenderOptions } from './senders.ts'

const open: { close(): Promise<void> }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
})

async function opened(
  server: MailServerOptions = {},
  options: Partial<SenderOptions> = {},
  dispatcher: { random?: () => number } = {},
  budgets: { mail?: number } = {},
) {
  const mail = await startMailServer(server)
  open.push(mail)
  const people: People = await startPeople(
    { server: mail.server, ca: mail.ca, ...options },
    { dispatcher: { random: () => 0, ...dispatcher }, budgets },
  )
  open.push(people)
  return { mail, people }
}

const CHART = makeChart(
  'c1',
  [
    { day: 'Mon', delay: 1 },
    { day: 'Tue', delay: 3 },
  ],
  { type: 'bar', x: 'day', y: ['delay'], series: null, title: 'Mean delay' },
)
const FOUND = {
  title: 'Délais à Zürich\r\nBcc: eve@example.com',
  markdown: `# Délais\n\nThe mean was **12** <script>minutes</script>.\n\n${chartPlaceholder('c1')}\n\n| a | b |\n|---|--:|\n| x | 1 |\n`,
  charts: [CHART],
}

function header(mail: Email, name: string): string | undefined {
  return mail.headers.find(({ key }) => key === name)?.value
}

const ADA = ['ada@example.com']

test("a reader's insight goes to her address alone, whoever else is named", async () => {
  const { mail, people } = await opened()
  const { store, box } = people
  const put = (email: string) =>
    store.putReaders({
      workspace_id,
      readers: [{ reader_id: 'ada', name: 'Ada', email, user_id: null, attributes: {} }],
    })
  await put('ada@example.com')
  const config = { smtpUrl: mail.server, publicUrl: PUBLIC_URL, mailFrom: null, mailDomains: ['example.com'] }
  const parts = { store, secrets: box, clock: systemClock, log: silentLog, config }
  const mailTo = async () => mailOf(parts, (await store.getReader({ workspace_id, reader_id: 'ada' }))!)
  const webhook_id = (await mailTo())!
  assert.equal(await mailTo(), webhook_id, 'it is made once')
  const list = await people.subscribe('email', { to: ['bob@example.com'] })
  const notify = [webhook_id, list.webhook_id]
  await people.finish({ ...FOUND, title: 'Hers' }, { reader_id: 'ada', notify })
  const got = await mail.next()
  assert.deepEqual([got.to, got.mail.subject], [['ada@example.com'], 'Hers'])
  const others = await people.told(list)
  assert.match(others.attempts[0]!.error!.detail, /nothing was sent/)
  const before = (await store.getReader({ workspace_id, reader_id: 'ada' }))!
  await put('ada@new.example')
  assert.equal(await store.getWebhook({ workspace_id, webhook_id }), null, 'it ends with the address')
  // A schedule read her address before it changed.
  const stale = (await mailOf(parts, before))!
  await people.finish({ ...FOUND, title: 'Hers' }, { reader_id: 'ada', notify: [stale] })
  const late = await people.told((await store.getWebhook({ workspace_id, webhook_id: stale }))!)
  assert.match(late.attempts[0]!.error!.detail, /nothing was sent/)
})

test('a due time of a schedule over readers sends each her own insight', async () => {
  const { mail, people } = await opened()
  const { store, box, node_id } = people
  const config = { smtpUrl: mail.server, publicUrl: PUBLIC_URL, mailFrom: null, mailDomains: ['example.com'] }
  const parts = { store, secrets: box, clock: systemClock, log: silentLog, config }
  const readers = ['ada', 'bob'].map((id) => ({
    reader_id: id,
    name: id,
    email: `${id}@example.com`,
    user_id: null,
    attributes: {},
  }))
  await store.putReaders({ workspace_id, readers })
  const { template, variables } = jobInput()
  const schedule = await store.createSchedule({
    schedule_id: uuidv7(),
    workspace_id,
    user_id: 'ada',
    name: 'Weekly',
    template_id: template.template_id,
    variables,
    cron: '@weekly',
    time_zone: 'UTC',
    starts_at: null,
    ends_at: null,
    missed: 'skip',
    missed_limit: 10,
    overlap: 'queue',
    paused: false,
    presence_name: null,
    priority: 0,
    metadata: {},
    readers: 'all',
  })
  const due = schedule.next_due_at!
  const plan = { times: [due], missed: 0, latest: due }
  const mailTo = (reader: Parameters<typeof mailOf>[1]) => mailOf(parts, reader)
  const fired = await fire({ store, mailOf: mailTo }, schedule, { plan, material: { template, variables } })
  assert.deepEqual(fired, { made: 2, full: false })
  for (const { job } of await store.claimJobs({ node_id, limit: 9 })) {
    const lease = { assignment_id: job.assignment_id, attempt: job.attempt, node_id }
    await store.startJob(lease)
    const found = findings({ title: `Sales of ${job.reader_id}`, markdown: `# Sales of ${job.reader_id}\n` })
    await store.completeJob({ ...lease, insight_id: uuidv7(), findings: found })
  }
  const got = [await mail.next(), await mail.next()].map((one) => `${one.to.join()}: ${one.mail.subject}`)
  assert.deepEqual(sorted(got), ['ada@example.com: Sales of ada', 'bob@example.com: Sales of bob'])
})

test('who has not agreed is asked once and gets nothing else, until she agrees', async () => {
  const { mail, people } = await opened()
  const { store, box } = people
  const EVE = 'eve@elsewhere.example'
  const since = '2026-01-01T00:00:00.000Z'
  const webhook = await people.subscribe('email', { to: [...ADA, EVE], unconfirmed: { [EVE]: since } })
  const only = await people.subscribe('email', { to: [EVE], unconfirmed: { [EVE]: since } })
  await people.finish({ ...FOUND, title: 'First' })
  const first = [await mail.next(), await mail.next()]
  const subjects = (to: string) => first.filter((one) => one.to[0] === to).map((one) => one.mail.subject)
  assert.deepEqual(subjects('ada@example.com'), ['First'])
  const question = 'Do you want reports by mail?'
  assert.deepEqual(subjects(EVE), [question], 'once, although two lists wait for her')
  const { text, html } = first.find((one) => one.to[0] === EVE)!.mail
  assert.match(text!, /send reports to eve@elsewhere\.example from assay\.example/)
  assert.doesNotMatch(html!, /minutes|Délais/)
  const [, token] = /https:\/\/assay\.example\/confirm\/([\w.-]+)/.exec(text!)!
  const sealed = JSON.parse(box.open(token!, CONFIRM_CONTEXT)) as string[]
  assert.equal(sealed[2], EVE)
  await Promise.all([people.told(webhook), people.told(only)])
  await people.finish({ ...FOUND, title: 'Second' })
  assert.deepEqual([(await mail.next()).to, (await people.told(only)).status], [ADA, 'failed'])
  const { failing_since, failures } = (await store.getWebhook(only))!
  assert.deepEqual([failing_since, failures], [null, 0], 'the mail server is not at fault')
  const book = { store, box }
  await noteConsents(book, { clock: systemClock, workspace_id, addresses: [EVE], what: 'confirmed_at' })
  await people.finish({ ...FOUND, title: 'Third' })
  const third = [await mail.next(), await mail.next(), await mail.next()]
  assert.deepEqual(
    third.map((one) => one.mail.subject),
    ['Third', 'Third', 'Third'],
  )
})

test('mail over the budget waits, and only what the server has taken counts', async () => {
  const { mail, people } = await opened({}, {}, {}, { mail: 0 })
  const { store, ledger } = people
  const webhook = await people.subscribe('email', { to: ['ada@example.com', 'bob@example.com'] })
  await people.finish(FOUND)
  const { promise, resolve } = Promise.withResolvers<string>()
  const look = async (): Promise<void> => {
    const reason = (await store.getWebhook(webhook))?.held_reason
    if (typeof reason === 'string') resolve(reason)
  }
  const unsubscribe = store.subscribe(() => void look())
  await look()
  assert.match(await promise.finally(unsubscribe), /budget of 0 mails a day \(ASSAY_BUDGET_MAIL\)/)
  await store.changeOutgoing({ workspace_id, patch: { budgets: { mail: 1 } } })
  assert.deepEqual(
    [(await mail.next()).to, (await mail.next()).to],
    [['ada@example.com'], ['bob@example.com']],
  )
  assert.equal((await people.told(webhook)).status, 'delivered')
  await ledger.refresh(workspace_id)
  const [counted] = await store.listOutgoing({ workspace_id, since: '2026-01-01' })
  assert.deepEqual([counted?.kind, counted?.count], ['mail', 2])
  assert.ok(counted!.bytes > 1000)
})

test('a finished job reaches each reader as a mail of its own: text, HTML, and the charts as pictures', async () => {
  const { mail, people } = await opened()
  const webhook = await people.subscribe('email', { to: ['ada@example.com', 'bob@example.com'] })
  await people.finish(FOUND)
  const [one, other] = [await mail.next(), await mail.next()]
  assert.deepEqual([one.to, other.to], [['ada@example.com'], ['bob@example.com']])
  assert.ok(one.secure, 'by STARTTLS')
  assert.equal(one.from, 'assay@reports.example')
  assert.deepEqual(one.mail.from, { name: 'Assay', address: 'assay@reports.example' })
  assert.deepEqual(
    one.mail.to?.map(({ address }) => address),
    ['ada@example.com'],
  )
  assert.equal(one.mail.subject, 'Délais à Zürich Bcc: eve@example.com')
  assert.equal(header(one.mail, 'bcc'), undefined)
  assert.match(one.raw.toString(), /multipart\/alternative/)
  assert.match(one.mail.text!, /The mean was \*\*12\*\*/)
  assert.match(one.mail.text!, /█/, 'its chart as text')
  assert.match(one.mail.html!, /<strong>12<\/strong> &lt;script&gt;/)
  assert.doesNotMatch(one.mail.html!, /<script|src="http|url\(/)
  const [picture] = one.mail.attachments
  assert.deepEqual([picture?.mimeType, picture?.disposition, picture?.related], ['image/png', 'inline', true])
  const cid = picture!.contentId!.slice(1, -1)
  assert.ok(one.mail.html!.includes(`src="cid:${cid}" alt="Mean delay"`))
  const bytes = Buffer.from(picture!.content as ArrayBuffer)
  assert.equal(bytes.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n')
  assert.equal(header(one.mail, 'auto-submitted'), 'auto-generated')
  assert.notEqual(one.mail.messageId, other.mail.messageId)

  const kept = await people.told(webhook)
  assert.equal(kept.status, 'delivered')
  const [attempt] = kept.attempts
  assert.deepEqual([attempt?.status_code, attempt?.error], [250, null])
  assert.ok(attempt!.phases.connect! > 0)
  assert.deepEqual(Object.keys(attempt!.response!.headers), ['ada@example.com', 'bob@example.com'])
  assert.match(attempt!.request.body, /^Subject: Délais/)
})

const TILE = {
  of: 'a.late',
  label: 'Late flights',
  value: 0.273,
  text: '27.3 %',
  when: null,
  changes: [{ direction: 'up' as const, text: 'up 3.7 points from May 2001', good: false }],
  target: null,
  note: null,
  doubt: null,
  course: null,
}
const READING = { blockers: [], grade: 'firm' as const, tiles: [TILE], proofs: [] }

test('where it is wished, the subject names the first figure and the PDF comes along, and never a figure that must not be read', async () => {
  const { mail, people } = await opened()
  await people.subscribe('email', { to: ADA, subject: 'figure', attach: 'pdf' })
  const found = { title: 'Flight delays', markdown: '# Delays\n\nMore.\n', charts: [] }
  await people.finish({ ...found, reading: READING })
  const one = (await mail.next()).mail
  assert.equal(one.subject, 'Late flights 27.3 %, up 3.7 points (Flight delays)')
  assert.match(one.html!, /<title>Flight delays<\/title>/)
  const [document] = one.attachments
  assert.deepEqual([document?.mimeType, document?.disposition], ['application/pdf', 'attachment'])
  assert.match(document!.filename!, /^[\w.-]+-\d{4}-\d\d-\d\d\.pdf$/)
  assert.match(Buffer.from(document!.content as ArrayBuffer).toString('latin1'), /^%PDF-/)
  for (const reading of [
    { ...READING, grade: 'withheld' as const },
    { ...READING, blockers: ['Days are missing.'] },
    { ...READING, tiles: [{ ...TILE, doubt: 'Days are missing.' }] },
    null,
  ]) {
    await people.finish({ ...found, reading })
    assert.equal((await mail.next()).mail.subject, 'Flight delays')
  }
})

test('a mail whose PDF cannot be made says so and goes without it', async () => {
  const { mail, people } = await opened(
    {},
    {
      render: async (task) => (task.form === 'pdf' ? Promise.reject(new Error('too long')) : '<p>x</p>'),
    },
  )
  await people.subscribe('email', { to: ADA, attach: 'pdf' })
  await people.finish({ title: 'T', markdown: 'x', charts: [] })
  const one = (await mail.next()).mail
  assert.equal(one.attachments.length, 0)
  assert.match(one.html!, /The PDF could not be made this time/)
})

test('the mail leads to the page for as long as the subscription says, and not to what is kept', async () => {
  const { mail, people } = await opened()
  const webhook = await people.subscribe('email', { to: ADA, link_expires_in: 600 })
  const insight_id = await people.finish(FOUND)
  const { html, text } = (await mail.next()).mail
  const [, secret] = /href="https:\/\/assay\.example\/links\/([\w-]{43})"/.exec(html!)!
  assert.ok(text!.includes(`${PUBLIC_URL}/links/${secret!}`))
  const link = await people.store.findLink(hashToken(secret!))
  assert.equal(link?.insight_id, insight_id)
  assert.equal(Date.parse(link.expires_at) - Date.parse(link.created_at), 600_000)
  const kept = await people.told(webhook)
  assert.equal(kept.delivery_id, link?.link_id)
})

test('a later try keeps the link of an earlier one, though the key of the secrets has changed in between', async () => {
  const { people } = await opened()
  const { store, ledger, box, key } = people
  const webhook = await people.subscribe('slack', { url: 'http://127.0.0.1:9/' })
  const insight_id = (await people.finish(FOUND))!
  const data = { insight_id }
  const event = { event_id: crypto.randomUUID(), type: 'job.completed' as const, data }
  const target: Target = { to: [], url: null, link_expires_in: 600, subject: 'title', attach: null }
  const linkBy = async (keys: SecretBox): Promise<string> => {
    const composer = { store, ledger, box: keys, publicUrl: PUBLIC_URL }
    const sending = { delivery_id, workspace_id, webhook, event, attempt: 1, now: 0 }
    return (await compose(composer, sending, target))!.link!
  }
  const delivery_id = crypto.randomUUID()
  const opens = (link: string) => store.findLink(hashToken(link.split('/').at(-1)!))
  const first = await linkBy(box)
  const next = Buffer.alloc(32, 9)
  assert.equal(await linkBy(new SecretBox([next, key])), first)
  assert.equal((await opens(first))?.insight_id, insight_id)
  const alone = await linkBy(new SecretBox([next]))
  assert.notEqual(alone, first)
  assert.equal((await opens(alone))?.insight_id, insight_id)
})

test('without an address of the service, or where it is not wanted, there is no link', async () => {
  const { mail, people } = await opened({}, { publicUrl: null })
  await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  const one = await mail.next()
  assert.doesNotMatch(one.mail.html!, /href=/)
  assert.equal(header(one.mail, 'list-unsubscribe'), undefined)
  const second = await opened()
  await second.people.subscribe('email', { to: ADA, link_expires_in: null })
  await second.people.finish(FOUND)
  const other = await second.mail.next()
  assert.doesNotMatch(other.mail.html!, /links\//)
  assert.match(
    header(other.mail, 'list-unsubscribe')!,
    /^<https:\/\/assay\.example\/unsubscribe\/v1\.[\w.-]+>$/,
  )
  assert.equal(header(other.mail, 'list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
})

test('who is put off is told again, under the same Message-ID and link; who has it is not', async () => {
  let greylisted = true
  const { mail, people } = await opened({
    refuse: (to) =>
      to.startsWith('bob') && greylisted ? { status: 451, text: '4.7.1 come again' } : undefined,
  })
  const readers = ['ada@example.com', 'bob@example.com', 'cy@example.com']
  const webhook = await people.subscribe('email', { to: readers }, { retry_schedule: [0.2, 0.2, 0.2] })
  await people.finish(FOUND)
  const first = await people.told(webhook, 1)
  assert.deepEqual([first.status, first.attempts[0]?.status_code], ['pending', 451])
  assert.deepEqual(
    [first.attempts[0]?.error?.class, /come again/.test(first.attempts[0]?.error?.detail ?? '')],
    ['smtp_status', true],
  )
  greylisted = false
  const last = await people.told(webhook, 2)
  assert.equal(last.status === 'delivered' || last.attempts.length > 1, true)
  const reached = () => mail.taken.map(({ to }) => to[0] ?? '')
  assert.deepEqual(sorted(reached()), readers)
  const [ada, , bob] = mail.taken
  const linkOf = ({ mail: { html } }: typeof ada & object) => /links\/[\w-]+/.exec(html!)?.[0]
  assert.equal(linkOf(ada!), linkOf(bob!))
  const id = (one: typeof ada & object) => /^<([\w-]+)\./.exec(one.mail.messageId!)![1]
  assert.equal(id(ada!), id(bob!))
})

test('a reader who is always put off holds up no mail to the others', async () => {
  const { mail, people } = await opened({
    refuse: (to) => (to.startsWith('bob') ? { status: 450, text: '4.2.0 come again' } : undefined),
  })
  const to = ['ada@example.com', 'bob@example.com']
  const webhook = await people.subscribe('email', { to }, { retry_schedule: [0.05, 0.05, 3600] })
  for (let told = 0; told < 8; told += 1) {
    await people.finish(FOUND)
    assert.deepEqual((await mail.next()).to, ['ada@example.com'])
  }
  const { failures, failing_since } = (await people.store.getWebhook(webhook))!
  assert.deepEqual([failures, failing_since], [0, null])
})

test('what no server will ever take has failed at once; the others still get theirs', async () => {
  const { mail, people } = await opened({
    refuse: (to) => (to.startsWith('no') ? { status: 550, text: '5.1.1 no such user' } : undefined),
  })
  const lost = await people.subscribe('email', { to: ['nobody@example.com'] })
  await people.finish(FOUND)
  const failed = await people.told(lost)
  assert.deepEqual([failed.status, failed.attempts[0]?.status_code], ['failed', 550])
  assert.match(failed.attempts[0]!.error!.detail, /no such user/)
  await people.store.deleteWebhook(lost)
  const mixed = await people.subscribe('email', { to: ['nobody@example.com', ...ADA] })
  await people.finish(FOUND)
  const kept = await people.told(mixed)
  assert.equal(kept.status, 'delivered')
  assert.match(kept.attempts[0]!.response!.headers['nobody@example.com']!, /^550/)
  assert.deepEqual((await mail.next()).to, ADA)
})

test('a message that is refused once it is sent is tried again', async () => {
  let full = true
  const { mail, people } = await opened({
    refuseMessage: () => (full ? { status: 452, text: '4.3.1 disk full' } : undefined),
  })
  const webhook = await people.subscribe('email', { to: ADA }, { retry_schedule: [0.1, 0.1, 0.1] })
  await people.finish(FOUND)
  assert.equal((await people.told(webhook, 1)).attempts[0]?.status_code, 452)
  full = false
  assert.deepEqual((await mail.next()).to, ADA)
})

test('no mail goes over a connection that cannot be secured, unless the operator allows it', async () => {
  const { mail, people } = await opened({ security: 'none' }, {})
  const tls = { ...mail.server, tls: true }
  const strict = await startPeople({ server: tls }, { dispatcher: { random: () => 0 } })
  open.push(strict)
  const webhook = await strict.subscribe('email', { to: ADA })
  await strict.finish(FOUND)
  const kept = await strict.told(webhook)
  assert.deepEqual([kept.status, kept.attempts[0]?.error?.class], ['pending', 'tls'])
  assert.equal(mail.taken.length, 0)
  await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  assert.equal((await mail.next()).secure, false)
})

test('a certificate that nobody has signed is not trusted, also where TLS begins with the first byte', async () => {
  const { mail, people } = await opened({ security: 'tls' })
  const stranger = await startPeople({ server: mail.server })
  open.push(stranger)
  const webhook = await stranger.subscribe('email', { to: ADA })
  await stranger.finish(FOUND)
  assert.equal((await stranger.told(webhook)).attempts[0]?.error?.class, 'tls')
  await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  assert.ok((await mail.next()).secure)
})

test('logs in where it is told how, and tells nothing of the password where that fails', async () => {
  const user = { name: 'assay', password: 'correct horse battery' }
  const { mail, people } = await opened({ user })
  await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  assert.equal((await mail.next()).user, 'assay')
  const wrong = { ...mail.server, password: 'wrong horse battery' }
  const locked = await startPeople({ server: wrong, ca: mail.ca })
  open.push(locked)
  const webhook = await locked.subscribe('email', { to: ADA })
  await locked.finish(FOUND)
  const kept = await locked.told(webhook)
  assert.deepEqual([kept.status, kept.attempts[0]?.status_code], ['pending', 535])
  assert.doesNotMatch(JSON.stringify(kept) + locked.lines.join(''), /wrong horse/)
})

test('a server that keeps silent, or is not there, is left after a while', async () => {
  const limits = { connect: 200, silence: 200, whole: 400 }
  const { people, mail } = await opened({ silent: true }, { limits })
  const webhook = await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  const kept = await people.told(webhook)
  assert.deepEqual([kept.status, kept.attempts[0]?.error?.class], ['pending', 'timeout'])
  await mail.close()
  const nobody = await startPeople({ server: mail.server, limits })
  open.push(nobody)
  const lost = await nobody.subscribe('email', { to: ADA })
  await nobody.finish(FOUND)
  assert.equal((await nobody.told(lost)).attempts[0]?.error?.class, 'refused')
})

test('a failed job is told with its error and what to do; a skipped one only where it is asked for', async () => {
  const { mail, people } = await opened()
  await people.subscribe('email', { to: ADA })
  const asking = await people.subscribe('email', { to: ['bob@example.com'] }, { tells_skipped: true })
  await people.finish({ skipped: 'condition' })
  const skipped = await mail.next()
  assert.deepEqual([skipped.to, skipped.mail.subject], [['bob@example.com'], 'Skipped: delays'])
  await people.store.deleteWebhook(asking)
  await people.finish({ code: 'timed_out', detail: 'It took longer than 60 s.' })
  const failed = (await mail.next()).mail
  assert.equal(failed.subject, 'Failed: delays')
  assert.match(failed.text!, /timed_out: It took longer than 60 s\./)
  assert.match(failed.text!, /raise it, or read less/)
  assert.match(failed.html!, /raise it, or read less/)
})

test('a mail whose charts cannot be drawn bears them as text', async () => {
  const { mail, people } = await opened(
    {},
    { draw: () => Promise.reject(new Error('there is no process to draw in')) },
  )
  await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  const { html, attachments } = (await mail.next()).mail
  assert.match(html!, /<pre[^>]*>[^<]*█/)
  assert.deepEqual(attachments, [])
})

test('a mail whose text cannot be laid out bears it as Markdown', async () => {
  const { mail, people } = await opened(
    {},
    { render: () => Promise.reject(new Error('The render took longer than 10 s.')) },
  )
  await people.subscribe('email', { to: ADA })
  await people.finish({ ...FOUND, markdown: '# Delays\n\n*Late* & <b>.\n' })
  const { html, text, attachments } = (await mail.next()).mail
  assert.match(html!, /<pre tabindex="0"># Delays\n\n\*Late\* &#38; &#60;b&#62;\.\n<\/pre>/)
  assert.match(html!, /Unsubscribe/)
  assert.match(text!, /\*Late\*/)
  assert.deepEqual(attachments, [])
})

test('an insight that was deleted before it was told is told no more', async () => {
  const { people } = await opened({ refuse: () => ({ status: 451, text: 'later' }) })
  const webhook = await people.subscribe('email', { to: ADA }, { retry_schedule: [0.3] })
  const insight_id = await people.finish(FOUND)
  await people.told(webhook, 1)
  const { items } = await people.store.listJobs({ workspace_id, limit: 1 })
  assert.equal(items[0]?.insight_id, insight_id)
  await people.store.deleteJob({ workspace_id, assignment_id: items[0].assignment_id })
  const list = await people.store.listDeliveries({ workspace_id, webhook_id: webhook.webhook_id, limit: 1 })
  assert.equal(list.items[0]?.status, 'canceled')
})

test('says what is missing where the operator has set no mail server', async () => {
  const people = await startPeople({ server: null })
  open.push(people)
  const webhook = await people.subscribe('email', { to: ADA })
  await people.finish(FOUND)
  const kept = await people.told(webhook)
  assert.deepEqual([kept.status, kept.attempts[0]?.error?.class], ['pending', 'request_invalid'])
  assert.match(kept.attempts[0]!.error!.detail, /ASSAY_SMTP_URL/)
})

const HEADERS = [
  'auto-submitted',
  'content-type',
  'date',
  'from',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'message-id',
  'mime-version',
  'subject',
  'to',
  'x-auto-response-suppress',
]

test('no hostile text adds a header, a recipient or a tag to a mail', async () => {
  for (const text of HOSTILE_TEXTS) {
    const bytes = await mailBytes({
      message: { headline: text, subject: text, sentences: [text], facts: [], insight: null, link: null },
      text: { body: '', cut: false },
      pictures: [],
      document: null,
      from: { name: 'Assay', address: 'assay@reports.example' },
      to: 'ada@example.com',
      messageId: '<1@reports.example>',
      date: 0,
      foot: { why: text, unsubscribe: 'https://assay.example/unsubscribe/x' },
    })
    const mail = await PostalMime.parse(bytes)
    assert.deepEqual(mail.headers.map(({ key }) => key).toSorted(), HEADERS)
    assert.deepEqual(
      [mail.to?.length, mail.cc, mail.bcc, mail.attachments.length],
      [1, undefined, undefined, 0],
    )
    const body = mail.html!.slice(mail.html!.indexOf('<body>'))
    for (const [tag] of body.matchAll(/<[^>]*>?/g))
      assert.match(
        tag,
        /^<(?:\/?(?:body|html|h1|p)|p class="foot"|a href="https:\/\/assay\.example\/unsubscribe\/x"|\/a)>$/,
      )
  }
})

test('a mail about hostile data has one line of subject, and nothing unseen in its text', async () => {
  const { mail, people } = await opened()
  await people.subscribe('email', { to: ADA, subject: 'figure' })
  const { insight } = hostileInsight()
  const says = HOSTILE_TEXTS.join(' ')
  const tile = { of: 'a', label: says.slice(0, 90), value: 1, text: 'a\r\nBcc: eve@evil.example', when: null }
  const more = { changes: [], target: null, note: null, doubt: null, course: null }
  const reading = { ...insight.reading!, blockers: [], grade: null, tiles: [{ ...tile, ...more }] }
  await people.finish({ title: says, markdown: insight.markdown, charts: [], reading })
  await people.finish({ code: 'analysis_failed', detail: says })
  for (const { mail: one } of [await mail.next(), await mail.next()]) {
    assert.doesNotMatch(one.subject!, UNSEEN)
    assert.doesNotMatch(one.subject!, /[\t\r\n]/)
    assert.ok(one.subject!.length <= 400)
    assert.equal(header(one, 'bcc'), undefined)
    assert.doesNotMatch(one.text!.replaceAll(/\u2063chart:chart-\d\u2063/g, ''), UNSEEN)
    assert.doesNotMatch(one.html!.replaceAll(/\u2063chart:chart-\d\u2063/g, ''), UNSEEN)
    assert.doesNotMatch(one.html!, /<(?:script|img|iframe|form|svg)\b|\son\w+="/i)
  }
})
