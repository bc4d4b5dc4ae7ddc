/**
 * Tests a link as its maker sees it at the insight, and as its reader opens it in a browser without a token. Charts
 * answer the pointer anywhere on them, and the keyboard, on the page of a link and in the console.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { COLORS } from '../../packages/engine/charts/marks/colors.generated.ts'
import { openPage } from './browser.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, button, link, refusal, runJob, settle } from './steps.ts'

const stood = stand({ ASSAY_FRAME_PARENTS: 'http://localhost:*' })

test('a reader sees the whole page, and the browser requests nothing else', async () => {
  const { service, browser } = stood
  const api = apiOf(service.url)
  const { insight_id } = await runJob(service.url, 'nile-flow')
  const link = await api.links.create(insight_id!, { expires_in: 3600, rows: true })
  const { page, context, complaints } = await openPage(browser, service.url)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  const answer = await page.goto(link.url)
  assert.equal(answer?.status(), 200)
  await page.waitForLoadState('networkidle')
  assert.ok((await page.locator('figure.chart svg').count()) > 0, 'its charts are drawn')
  assert.deepEqual(asked, [`${service.url}${link.url}`])
  assert.deepEqual(complaints, [], 'nothing that the policy had to stop')
  assert.deepEqual(await context.cookies(), [])
  await leadsToRows(page)
  await assertAccessible(page, 'the page of a link')
  assert.doesNotMatch(service.log(), new RegExp(link.url.split('/').at(-1)!), 'the log tells no address')

  await api.links.delete(insight_id!, link.link_id)
  const gone = await page.goto(link.url)
  assert.equal(gone?.status(), 404)
  await page.getByRole('heading', { name: 'Nothing to read here' }).waitFor()
  await assertAccessible(page, 'the page of a link that is gone')
  await context.close()
})

/**
 * Asserts that two clicks lead from a sentence to the rows: to its evidence, and to the source of that. One click
 * leads there from a number.
 */
async function leadsToRows(page: Page): Promise<void> {
  const section = page.getByText('The rows behind the numbers')
  await section.waitFor()
  const proof = page.locator('details.proof').first()
  await proof.locator('summary').click()
  await proof.getByRole('link').click()
  const sheet = new URL(page.url()).hash
  assert.match(sheet, /^#rows-/)
  await page.locator(`${sheet} tbody tr`).first().waitFor()
  const number = page.locator('a.number[title*=": "]').first()
  const title = await number.getAttribute('title')
  await number.press('Enter')
  const place = page.locator(`[id="${decodeURIComponent(new URL(page.url()).hash.slice(1))}"]`)
  await place.waitFor()
  const exact = /: (.+)$/.exec(title ?? '')?.[1]
  assert.ok(exact && (await place.innerText()).includes(exact), `${title} is in the row`)
}

test('an analyst makes a link at the insight, sees its address once and how often it was opened, and revokes it', async () => {
  const { service, browser } = stood
  const { insight_id } = await runJob(service.url, 'nile-flow')
  const { page, context, complaints } = await stood.openAs('analyst')
  await page.goto(`/insights/${insight_id}`)
  await button(page, 'Share').click()
  await page.getByText('No link opens it').waitFor()
  await page.getByText(`/insights/${insight_id}/links`).waitFor()
  await assertAccessible(page, 'no links')
  await page.getByLabel('Valid for').selectOption('a day')
  await page.getByLabel('Note').fill('for the board')
  await page.getByLabel('With the rows behind the numbers').check()
  await button(page, 'Make a link').click()
  const address = await page.locator('.secret code').innerText()
  await page.getByText('never opened').waitFor()
  await page.getByText('for the board (with rows)').waitFor()
  await assertAccessible(page, 'a link that was made')

  const reader = await openPage(browser, service.url)
  assert.equal((await reader.page.goto(address))?.status(), 200)
  await page.getByText(/opened 1 time, last/).waitFor()
  await page.keyboard.press('Escape')
  await button(page, 'Share').click()
  await page.getByText(/in 2\d hours/).waitFor()
  assert.doesNotMatch(await page.content(), new RegExp(address.split('/').at(-1)!), 'it is shown only once')

  await button(page, 'Revoke for the board').click()
  await page.getByText('The link then opens nothing').waitFor()
  await assertAccessible(page, 'a question over the links')
  await button(page, 'Revoke the link').click()
  await page.getByText('No link opens it').waitFor()
  assert.equal((await reader.page.goto(address))?.status(), 404)
  await reader.context.close()
  assert.deepEqual(complaints, [])
  await context.close()
})

/** The most bytes of script of a reader's first insight, compressed. */
const MOST_SCRIPT = 250_000

test('a reader of one insight loads less than 250 kB of script', async () => {
  const { insight_id } = await runJob(stood.service.url, 'nile-flow')
  const signedIn = await stood.openAs('viewer')
  const context = await stood.browser.newContext({
    baseURL: stood.service.url,
    storageState: await signedIn.context.storageState(),
  })
  const page = await context.newPage()
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  const scripts = new Set<string>()
  let bytes = 0
  network.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId))
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) bytes += encodedDataLength
  })
  await page.goto(`/insights/${insight_id}`)
  await page.locator('.drawing svg').first().waitFor({ state: 'attached' })
  await settle(page)
  assert.ok(bytes > 100_000 && bytes < MOST_SCRIPT, `${bytes} bytes of script`)
  await context.close()
  await signedIn.context.close()
})

test('a viewer sees the links of an insight, and no button that would be refused', async () => {
  const { insight_id } = await runJob(stood.service.url, 'nile-flow')
  const api = apiOf(stood.service.url)
  await api.links.create(insight_id!, { label: 'for the press' })
  // The label that a message of a subscription gives to its link.
  const subscription_id = '01a22400-0000-7000-8000-000000000001'
  await api.links.create(insight_id!, { label: `email ${subscription_id}` })
  const { page, context, complaints } = await stood.openAs('viewer')
  await page.goto(`/insights/${insight_id}`)
  await button(page, 'Share').click()
  await page.getByText('for the press').waitFor()
  await page.getByText(/You can send the address of this page .* and the PDF to anyone/).waitFor()
  const sent = link(page, 'sent by mail')
  assert.equal(await sent.getAttribute('href'), `/subscriptions/${subscription_id}`)
  await assertAccessible(page, 'what a viewer can share')
  assert.deepEqual(await page.getByRole('dialog').getByRole('button').allInnerTexts(), ['Close'])
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the address of an insight that is gone says so below a heading', async () => {
  const { page } = stood.watched
  await page.goto('/insights/01a22400-0000-7000-8000-000000000002')
  await page.getByText('There is no insight').waitFor()
  await assertAccessible(page, 'an insight that is gone')
  stood.assertSilent([refusal(404)])
})

test('a reader compares an insight with last week in two clicks, and is offered only runs that exist', async () => {
  const { service } = stood
  const run = (period: string, origin: string) =>
    runJob(service.url, 'flight-delays', { period, origin }).then(({ insight_id }) => insight_id!)
  const before = await run('2001-06-11..2001-06-17', 'ORD')
  await run('2001-06-11..2001-06-17', 'SFO')
  const own = await run('2001-06-18..2001-06-24', 'ORD')
  const { page, context, complaints } = await stood.openAs('viewer')
  let clicks = 0
  const click = async (place: Locator): Promise<void> => {
    clicks += 1
    await place.click()
  }
  await page.goto(`/insights/${own}`)
  await click(button(page, 'Compare'))
  const offered = page.getByRole('menuitem', { name: / before/ })
  await offered.first().waitFor()
  assert.equal(await offered.count(), 1, 'one earlier run of these variables')
  assert.match(await offered.innerText(), /^A week before\n.*11 to 17 June 2001 · made /)
  await click(offered)
  await page.getByRole('heading', { name: 'What changed', level: 1 }).waitFor()
  assert.equal(clicks, 2)
  assert.equal(new URL(page.url()).search, `?beside=${before}`)
  const late = page.locator('.differences tbody tr', { hasText: /share of late flights/i }).first()
  assert.match((await late.locator('td').allInnerTexts()).at(-1)!, /^(?:up|down) [\d.]+ points?$/)
  await page.getByRole('heading', { name: 'Findings', level: 2 }).waitFor()
  assert.equal(await page.locator('article.insight').count(), 2)
  await assertAccessible(page, 'two runs beside each other')
  await page.goto(`/insights/${before}`)
  await button(page, 'Compare').click()
  await page.getByText('There is no earlier run with the same variables.').waitFor()
  assert.deepEqual(complaints, [])
  await context.close()
})

/** Resolves to the address of a collection with the insight, made as people do. */
async function sharedCollection(insight_id: string): Promise<string> {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const { collection_id } = await api.collections.create({
    name: 'Board',
    description: 'What the board reads',
  })
  await api.collections.add(collection_id, insight_id, { newest: true })
  await page.goto(`/insights?collection=${collection_id}`)
  await button(page, 'Share').click()
  await page.getByRole('dialog').getByText('No link opens it').waitFor()
  assert.equal(await page.getByLabel('Always the newest run').count(), 0)
  await button(page, 'Make a link').click()
  const address = await page.locator('.secret code').innerText()
  await assertAccessible(page, 'the links of a collection')
  const shared = await openPage(stood.browser, stood.service.url)
  await shared.page.goto(address)
  await shared.page.getByRole('heading', { name: 'Board', level: 1 }).waitFor()
  await assertAccessible(shared.page, 'the page of a collection')
  assert.deepEqual(shared.complaints, [])
  await shared.context.close()
  return address
}

test('a site that the operator names shows the page, or a collection, in its colours and as high as it is, and no other site does', async (t) => {
  const { service, browser } = stood
  const { insight_id } = await runJob(service.url, 'nile-flow')
  const { url } = await apiOf(service.url).links.create(insight_id!, { newest: true })
  const html = `<!doctype html><html lang="en"><title>Site</title><style>main { --assay-text: rgb(1, 2, 3); --assay-page: rgb(20, 30, 40) }</style>
<main><h1>Site</h1><assay-insight label="The Nile" src="${service.url}${url}"></assay-insight></main><script src="${service.url}/embed.js"></script>`
  const site = createServer((_request, reply) => reply.setHeader('content-type', 'text/html').end(html))
  await new Promise<void>((done) => site.listen(0, done))
  t.after(() => site.close())
  const { port } = site.address() as AddressInfo
  const board = await sharedCollection(insight_id!)
  const { page, context, complaints } = await openPage(browser, service.url)
  const asked = new Set<string>()
  page.on('request', (request) => asked.add(new URL(request.url()).origin))
  await page.goto(`http://localhost:${port}/`)
  const frame = page.frameLocator('assay-insight iframe')
  await frame.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(
    () =>
      (document.querySelector('assay-insight')?.shadowRoot?.querySelector('iframe')?.clientHeight ?? 0) > 800,
  )
  const color = await frame.locator('body').evaluate((body) => getComputedStyle(body).color)
  assert.equal(color, 'rgb(1, 2, 3)')
  const grid = await frame
    .locator('figure.chart')
    .first()
    .evaluate((chart) => getComputedStyle(chart).getPropertyValue('--chart-grid'))
  assert.equal(grid.trim(), COLORS['chart-grid'][1], 'charts are dark on a dark page')
  assert.equal(await page.locator('assay-insight iframe').getAttribute('title'), 'The Nile')
  assert.deepEqual([...asked].toSorted(), [service.url, `http://localhost:${port}`].toSorted())
  const policies = () => complaints.filter((one) => !one.startsWith('asked '))
  await page.locator('assay-insight').evaluate((element, src) => element.setAttribute('src', src), board)
  await frame.getByRole('heading', { name: 'Board', level: 1 }).waitFor()
  await frame.getByRole('heading', { level: 2 }).getByRole('link').click()
  await frame.getByRole('link', { name: '← Board' }).waitFor()
  await frame.locator('figure').first().waitFor()
  await frame.getByRole('link', { name: '← Board' }).click()
  await frame.getByRole('heading', { name: 'Board', level: 1 }).waitFor()
  assert.deepEqual([...asked].toSorted(), [service.url, `http://localhost:${port}`].toSorted())
  assert.deepEqual(policies(), [])
  await page.goto(`http://127.0.0.1:${port}/`)
  while (policies().length === 0) await page.waitForTimeout(20)
  assert.match(policies().join(), /frame-ancestors/)
  await context.close()
})

const PLACES = 60

/**
 * Resolves to how many of the places from the left to the right of each chart get an answer. The mouse itself moves to
 * both ends.
 */
async function answered(page: Page): Promise<number[]> {
  const drawings = page.locator('figure.chart .drawing:visible')
  const counts: number[] = []
  for (let index = 0; index < (await drawings.count()); index += 1) {
    const drawing = drawings.nth(index)
    await drawing.scrollIntoViewIfNeeded()
    const box = (await drawing.boundingBox())!
    for (const x of [box.x + 1, box.x + box.width - 1]) {
      await page.mouse.move(x, box.y + box.height / 2)
      assert.equal(await page.locator('.chart-tip:not([hidden])').count(), 1)
    }
    counts.push(await drawing.evaluate(answersAt, PLACES))
  }
  await page.mouse.move(0, 0)
  return counts
}

/** Runs in the page. Enters each place from outside of the drawing, at the topmost element there. */
function answersAt(drawing: HTMLElement | SVGElement, places: number): number {
  const { left, top, width, height } = drawing.getBoundingClientRect()
  const y = top + height / 2
  let count = 0
  for (let place = 0; place < places; place += 1) {
    const x = left + 1 + ((width - 2) * place) / (places - 1)
    drawing.dispatchEvent(new PointerEvent('pointerleave'))
    const move = new PointerEvent('pointermove', { clientX: x, clientY: y, bubbles: true })
    document.elementFromPoint(x, y)?.dispatchEvent(move)
    count += document.querySelectorAll('.chart-tip:not([hidden])').length
  }
  return count
}

async function byKeyboard(page: Page): Promise<string[]> {
  await page.locator('figure.chart .drawing:visible').first().focus()
  const read: string[] = []
  for (const key of ['ArrowRight', 'ArrowRight', 'End', 'ArrowLeft']) {
    await page.keyboard.press(key)
    read.push(await page.locator('.chart-tip:not([hidden])').innerText())
  }
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.chart-tip:not([hidden])').count(), 0)
  return read
}

/** Sorts and saves by keyboard, under the policy of the page. */
async function sortsAndSaves(page: Page): Promise<void> {
  const head = page.locator('table:visible th').last()
  await head.locator('button').press('Enter')
  assert.equal(await head.getAttribute('aria-sort'), 'descending')
  const saved = page.waitForEvent('download')
  await page.locator('.table-tools:visible button').last().press('Enter')
  const text = await readFile(await (await saved).path(), 'utf8')
  const names = await page.locator('table:visible').last().locator('th').allTextContents()
  assert.equal(text.split('\r\n')[0], `\ufeff${names.join(',')}`)
}

test('a chart answers at 60 of 60 places and to the arrow keys, on the page of a link and in the console, wide and on a phone', async () => {
  const { service, browser, watched } = stood
  const { insight_id } = await runJob(service.url, 'monthly-forecast')
  const link = await apiOf(service.url).links.create(insight_id!, { expires_in: 3600 })
  for (const width of [1280, 360]) {
    const { page, context, complaints } = await openPage(browser, service.url, { width, dark: width === 360 })
    await page.goto(link.url)
    assert.deepEqual(await answered(page), [PLACES, PLACES])
    const [first, second, last, before] = await byKeyboard(page)
    assert.ok(first !== second && last !== before)
    assert.match(last!, /^Dec-04\nExpected, 95 % interval\n1\d,\d{3} a day \(1\d,\d{3} to 1\d,\d{3}\)$/)
    await sortsAndSaves(page)
    await assertAccessible(page, 'a page whose charts and tables answer')
    const heights = await page
      .locator('figure.chart .drawing:visible text')
      .evaluateAll((texts) => texts.map((text) => text.getBoundingClientRect().height))
    assert.ok(Math.min(...heights.filter((height) => height > 0)) >= 11, 'letters can be read')
    assert.deepEqual(complaints, [])
    await context.close()
  }
  const { page } = watched
  await page.goto(`/insights/${insight_id}`)
  await page.locator('.drawing.wide svg').nth(1).waitFor()
  await settle(page)
  assert.deepEqual(await answered(page), [PLACES, PLACES])
  assert.match((await byKeyboard(page))[2]!, /10,953 a day/)
  stood.assertSilent()
})
