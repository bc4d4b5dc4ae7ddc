/** Tests what the console loads later, and where it leads back to what a job was created with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, runJob, settle } from './steps.ts'

const stood = stand()

/** The scripts of the page Health. */
const PART = /\/assets\/health-[^/]+\.js$/

test('a part that does not arrive is asked for once more, and else the page says so and loads again by a button', async () => {
  const { page } = stood.watched
  const sections = page.getByRole('navigation', { name: 'Sections' })
  await page.goto('/insights')
  await settle(page)
  let refused = 0
  await page.route(PART, async (route) => {
    refused += 1
    await (refused === 1 ? route.abort() : route.continue())
  })
  const goToHealth = async (): Promise<void> => {
    await page.keyboard.press('g')
    await page.keyboard.press('h')
  }
  await goToHealth()
  await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor()
  assert.equal(refused, 2, 'the second request was answered')
  await page.unroute(PART)

  await page.route(PART, (route) => route.abort())
  await page.reload()
  await page.getByText('A part of the console did not arrive').waitFor()
  await sections.waitFor()
  await assertAccessible(page, 'a part that did not arrive')
  await page.unroute(PART)
  await button(page, 'Load this page again').click()
  await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor()
  stood.assertSilent([/ERR_FAILED/, /dynamically imported module/])
})

test('the lineage of an insight leads to the template as it was, and says what has changed since', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await api.templates.put('greeting', '---\ntitle: Greeting\n---\n# Greeting\n\nGood morning.\n')
  const { insight_id, assignment_id } = await runJob(stood.service.url, 'greeting')
  await page.goto(`/insights/${insight_id}`)
  await page.getByText('How this was computed').click()
  await link(page, 'greeting as it was then').click()
  await page.getByText('It is the same now.').waitFor()
  await api.templates.put('greeting', '---\ntitle: Greeting\n---\n# Greeting\n\nGood evening.\n')
  await page.reload()
  await page.getByText('It has changed since.').waitFor()
  await page.getByRole('definition').getByText('Good morning.').waitFor()
  await page.getByRole('definition').getByText('Good evening.').waitFor()
  await page.getByRole('textbox', { name: 'Source of greeting at that time' }).waitFor()
  await assertPages(stood.browser, stood.service.url, [`/templates/greeting/then/${assignment_id}`])
  stood.assertSilent()
})

test('on a tablet all parts of the system are in view', async () => {
  const { page } = stood.watched
  await page.setViewportSize({ width: 820, height: 900 })
  await page.goto('/system')
  await settle(page)
  const parts = page.getByRole('navigation', { name: 'Parts of the system' }).getByRole('link')
  const rights = await parts.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right))
  assert.equal(rights.length, 10)
  assert.ok(Math.max(...rights) <= 820, `the last ends at ${Math.max(...rights)}`)
  stood.assertSilent()
})
