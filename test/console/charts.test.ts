/** Charts answer wherever the pointer is on them, and to the keyboard, in the console and on the page of a link. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPage } from './browser.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, runJob, settle } from './steps.ts'

const stood = stand()
const PLACES = 60

/** How many of the places from the left to the right of each chart get an answer. */
async function answered(page: Page): Promise<number[]> {
  const drawings = page.locator('figure.chart .drawing:visible')
  const counts: number[] = []
  for (let index = 0; index < (await drawings.count()); index += 1) {
    const drawing = drawings.nth(index)
    await drawing.scrollIntoViewIfNeeded()
    const box = (await drawing.boundingBox())!
    let count = 0
    for (let place = 0; place < PLACES; place += 1) {
      await page.mouse.move(box.x + 1 + ((box.width - 2) * place) / (PLACES - 1), box.y + box.height / 2)
      count += await page.locator('.chart-tip:not([hidden])').count()
    }
    counts.push(count)
  }
  await page.mouse.move(0, 0)
  return counts
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

/** By keyboard, under the policy of the page. */
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
    assert.match(last!, /^Dec-04\nExpected, 95% interval\n1\d,\d{3} a day \(1\d,\d{3} to 1\d,\d{3}\)$/)
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
  assert.match((await byKeyboard(page))[2]!, /10,941 a day/)
  stood.assertSilent()
})
