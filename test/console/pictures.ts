/**
 * Makes the pictures of docs/console.md, docs/console-pictures.md and docs/charts.md anew: "npm run pictures", or
 * "npm run pictures -- files charts" for some ("pages" for those of docs/console-pictures.md). A service of its own is filled as a workspace would be, and Chromium takes pictures of it and
 * packs them as WebP.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { ensureConsole } from '../../packages/console/build.ts'
import { startMailServer } from '../servers/mail-server.ts'
import { startService, temporaryFolder } from '../servers/service.ts'
import { openBrowser, openPage, signIn } from './browser.ts'
import { apiOf, button, runJob, settle, TOKEN } from './steps.ts'

const IMAGES = path.join(import.meta.dirname, '../../docs/images')
const QUALITY = 0.7

type Api = ReturnType<typeof apiOf>

async function fillSchedules(api: Api): Promise<void> {
  const zone = { time_zone: 'America/Chicago' }
  const made = await Promise.all([
    api.schedules.create({
      name: 'Delays, every working morning',
      template_id: 'flight-delays',
      template_vars: { origin: 'ORD' },
      cron: '30 6 * * MON-FRI',
      missed: 'once',
      ...zone,
    }),
    api.schedules.create({
      name: 'The Nile, at the end of each month',
      template_id: 'nile-flow',
      cron: '0 18 L * *',
      time_zone: 'Africa/Cairo',
    }),
    api.schedules.create({ name: 'Earthquakes', template_id: 'earthquakes', cron: '@hourly', paused: true }),
  ])
  for (const { schedule_id } of made.slice(0, 2)) {
    const job = await api.schedules.runNow(schedule_id)
    await api.jobs.wait(job.assignment_id)
  }
}

async function fillFiles(api: Api): Promise<void> {
  const rows = (count: number): string =>
    Array.from(
      { length: count },
      (_, index) =>
        `2026-01-${String((index % 28) + 1).padStart(2, '0')},${['north', 'south', 'west'][index % 3]},${40 + ((index * 37) % 91)}\n`,
    ).join('')
  for (const [file, count] of [
    ['2025/sales.csv', 90_000],
    ['2026/sales.csv', 41_000],
    ['regions.csv', 12],
    ['targets.csv', 48],
  ] as const)
    await api.files.put(file, `day,region,amount\n${rows(count)}`)
}

async function fillConnections(api: Api): Promise<void> {
  const user = 'assay_reader'
  await api.connections.create({
    name: 'warehouse',
    kind: 'postgresql',
    description: 'Orders and customers, copied each night',
    options: { host: 'db.example.com', database: 'shop', user },
    secrets: { password: 'of-the-picture' },
  })
  await api.connections.create({
    name: 'clicks',
    kind: 'clickhouse',
    options: { url: 'https://clicks.example.com:8443', user },
    secrets: { password: 'of-the-picture' },
  })
  await api.connections.create({
    name: 'exports',
    kind: 's3',
    description: 'What partners send',
    options: { bucket: 'partner-exports', region: 'eu-central-1' },
  })
}

async function fillSubscriptions(api: Api): Promise<void> {
  const { subscription_id } = await api.subscriptions.create({
    kind: 'email',
    to: ['ada@example.com', 'grace@example.com', 'mary@example.com'],
    description: 'The weekly round',
  })
  await api.subscriptions.create({
    kind: 'slack',
    url: 'https://hooks.slack.com/services/T0/B0/of-the-picture',
    events: ['job.failed', 'schedule.failed'],
    presence_name: 'nightly',
  })
  await api.subscriptions.test(subscription_id)
}

/** Makes a webhook at a port where nothing listens. Resolves to the page of a delivery that was tried. */
async function fillWebhooks(api: Api): Promise<string> {
  const { user_id } = await api.me()
  const { webhook_id } = await api.webhooks.create({
    user_id,
    presence_name: 'nightly',
    url: 'http://127.0.0.1:9/hooks/assay',
    description: 'The data lake',
  })
  await api.webhooks.test(webhook_id)
  const [delivery] = (await api.webhooks.deliveries(webhook_id)).items
  return `/webhooks/${webhook_id}/deliveries/${delivery!.delivery_id}`
}

/** The place of a chart of each kind: the template, and the index of the chart in it. */
const CHARTS = [
  ['monthly-forecast', 0],
  ['experiment-readout', 0],
  ['why-did-it-change', 0],
  ['funnel', 0],
  ['births-calendar', 1],
] as const

/** Takes a picture of the charts below each other, as the console draws them. */
async function chartsPicture(browser: Browser, url: string): Promise<Buffer> {
  const view = { width: 1280, height: 900 }
  const { page, context } = await openPage(browser, url, view)
  await signIn(page, TOKEN)
  const drawings: string[] = []
  for (const [template_id, nth] of CHARTS) {
    const { insight_id } = await runJob(url, template_id)
    await page.goto(`/insights/${insight_id}`)
    await settle(page)
    const drawn = await page.locator('.drawing.wide').nth(nth).screenshot()
    drawings.push(`<img src="data:image/png;base64,${drawn.toString('base64')}">`)
  }
  await context.close()
  const sheet = await browser.newPage({ viewport: { width: 820, height: 600 } })
  await sheet.setContent(
    `<body style="margin:24px;display:grid;gap:36px;justify-items:start">${drawings.join('')}`,
  )
  const bytes = await webp(browser, await sheet.screenshot({ fullPage: true }))
  await sheet.close()
  return bytes
}

/** Makes a schedule whose runs fail. */
async function fillFailing(api: Api): Promise<void> {
  await api.templates.put(
    'orders',
    "---\ntitle: Orders by day\n---\n\n```sql days\nselect error('no such table')\n```\n",
  )
  const { schedule_id } = await api.schedules.create({
    name: 'Orders, every night',
    template_id: 'orders',
    cron: '0 3 * * *',
    time_zone: 'Europe/Berlin',
  })
  for (let run = 0; run < 2; run += 1)
    await api.jobs.wait((await api.schedules.runNow(schedule_id)).assignment_id)
}

interface Picture {
  address: string
  height: number
  /** The width in pixels; 1280 by default. */
  width?: number
  dark?: boolean
  /** Does steps on the page before the picture is taken. */
  act?(page: Page): Promise<unknown>
}

async function share(page: Page): Promise<void> {
  await button(page, 'Share').click()
  await page.getByLabel('Note').fill('for the press')
  await button(page, 'Make a link').click()
  await page.locator('.secret code').waitFor()
}

/** Scrolls to the chosen element, so that it begins below the bar of the sections. */
async function scrollTo(page: Page, chosen: string): Promise<void> {
  await page.evaluate((selector) => {
    scrollBy({ top: document.querySelector(selector)!.getBoundingClientRect().top - 80, behavior: 'instant' })
  }, chosen)
}

async function manySets(page: Page): Promise<void> {
  await page.getByLabel('Sets of variables').fill('origin\ttop\nORD\t3\nnowhere\t5\nSFO\t\nJFK\t10')
  await page.locator('.sets .field-fault').first().waitFor()
  await scrollTo(page, '.tabs')
}

async function mondays(page: Page): Promise<void> {
  await page.getByLabel('At', { exact: true }).fill('08:00')
  await button(page, 'Mondays').click()
  await page.locator('.due li').nth(4).waitFor()
  await scrollTo(page, '.days-at')
}

async function drafted(page: Page): Promise<void> {
  await page.locator('.preview .insight-title').waitFor()
  await settle(page)
}

async function compared(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'What changed', level: 1 }).waitFor()
  await settle(page)
}

async function webp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  const packed = await page.evaluate(
    async ([source, quality]) => {
      const picture = await createImageBitmap(await (await fetch(source)).blob())
      const canvas = new OffscreenCanvas(picture.width, picture.height)
      canvas.getContext('2d')!.drawImage(picture, 0, 0)
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality })
      const bytes = new Uint8Array(await blob.arrayBuffer())
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    },
    [`data:image/png;base64,${png.toString('base64')}`, QUALITY] as const,
  )
  await page.close()
  return Buffer.from(packed, 'base64')
}

/** The two windows in which each page of docs/console-pictures.md is shown. */
const WINDOWS = {
  wide: { width: 1440, height: 900, dark: false },
  phone: { width: 390, height: 844, dark: true },
} as const

type PageShown = readonly [address: string, act?: (page: Page) => Promise<unknown>]

/** Takes a picture of each page in each window, such as pages/health-phone.webp. */
async function takePages(browser: Browser, url: string, pages: Record<string, PageShown>): Promise<void> {
  for (const [window, { dark, ...size }] of Object.entries(WINDOWS)) {
    const { page, context } = await openPage(browser, url, { ...size, dark })
    await signIn(page, TOKEN)
    for (const [name, [address, act]] of Object.entries(pages)) {
      await page.goto(address)
      await settle(page)
      await act?.(page)
      const bytes = await webp(browser, await page.screenshot())
      writeFileSync(path.join(IMAGES, `pages/${name}-${window}.webp`), bytes)
      process.stdout.write(`pages/${name}-${window}.webp: ${bytes.length} bytes\n`)
    }
    await context.close()
  }
}

async function main(wanted: readonly string[]): Promise<void> {
  await ensureConsole({ fresh: true })
  const { folder, remove } = temporaryFolder()
  const mail = await startMailServer({ security: 'none' })
  const env = {
    ASSAY_TOKEN: TOKEN,
    ASSAY_WEBHOOK_TARGETS: 'public,loopback',
    ASSAY_SMTP_URL: `smtp://127.0.0.1:${mail.server.port}?tls=off`,
    ASSAY_MAIL_FROM: 'Assay <assay@example.com>',
  }
  const service = await startService({ home: path.join(folder, 'home'), wrapped: false, env })
  const browser = await openBrowser()
  const api = apiOf(service.url)
  await fillSubscriptions(api)
  const { insight_id } = await runJob(service.url, 'flight-delays', { origin: 'ORD' })
  const months: string[] = []
  for (const period of ['2001-02', '2001-03', '2001-04', '2001-05']) {
    const run = await runJob(service.url, 'flight-delays', { origin: 'ORD', period })
    months.push(run.insight_id!)
  }
  await runJob(service.url, 'co2-trend', {})
  await runJob(service.url, 'penguins', {})
  await api.links.create(insight_id!, { label: 'for the board', expires_in: 30 * 86_400 })
  await fillFiles(api)
  await fillConnections(api)
  await fillSchedules(api)
  const delivery = await fillWebhooks(api)
  const insight = `/insights/${insight_id}`
  const pictures: Record<string, Picture> = {
    insights: { address: '/insights', height: 900 },
    insight: { address: insight, height: 900 },
    'insight-dark': { address: insight, height: 900, dark: true },
    phone: { address: insight, height: 780, width: 390 },
    templates: { address: '/templates', height: 900 },
    schedules: { address: '/schedules', height: 460 },
    files: { address: '/files', height: 860 },
    links: { address: insight, height: 760, act: share },
    subscriptions: { address: '/subscriptions', height: 340 },
    connections: { address: '/system/connections', height: 590 },
    audit: { address: '/system/audit', height: 700 },
    delivery: { address: delivery, height: 760 },
    editor: { address: '/templates/new?file=uploads/2025/sales.csv', height: 1100, act: drafted },
    many: { address: '/templates/flight-delays?tab=many', height: 1100, act: manySets },
    schedule: { address: '/schedules/new?template=flight-delays', height: 800, act: mondays },
  }
  if (wanted.length === 0 || wanted.includes('charts')) {
    const bytes = await chartsPicture(browser, service.url)
    writeFileSync(path.join(IMAGES, 'charts.webp'), bytes)
    process.stdout.write(`charts.webp: ${bytes.length} bytes\n`)
  }
  for (const [name, { address, height, width = 1280, dark, act }] of Object.entries(pictures)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const { page, context } = await openPage(browser, service.url, { width, height })
    if (dark) await page.emulateMedia({ colorScheme: 'dark' })
    await signIn(page, TOKEN)
    await page.goto(address)
    await settle(page)
    await act?.(page)
    const bytes = await webp(browser, await page.screenshot())
    writeFileSync(path.join(IMAGES, `console-${name}.webp`), bytes)
    process.stdout.write(`console-${name}.webp: ${bytes.length} bytes\n`)
    await context.close()
  }
  if (wanted.length === 0 || wanted.includes('pages')) {
    await fillFailing(api)
    await takePages(browser, service.url, {
      library: ['/insights'],
      insight: [insight],
      compare: [`/insights/${months.at(-1)}?beside=${months.at(-2)}`, compared],
      health: ['/health'],
      schedule: ['/schedules/new?template=flight-delays', mondays],
      files: ['/files'],
      editor: ['/templates/new?file=uploads/2025/sales.csv', drafted],
    })
  }
  await browser.close()
  service.signal('SIGTERM')
  await service.exited
  await mail.close()
  remove()
}

await main(process.argv.slice(2))
