/**
 * Tests many jobs at once in the console. Sets of variables are checked row by row before any job is made, and
 * followed afterwards.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, refusal, settle } from './steps.ts'

const here = stand()
const sets = () => here.watched.page.getByLabel('Sets of variables')
const cells = (row: number) => here.watched.page.locator('.sets tbody tr').nth(row).locator('td')

test('shows each row with its fault as the service says it, before a job is made', async () => {
  const { page } = here.watched
  await page.goto('/templates/flight-delays')
  await link(page, 'Many at once').click()
  await page.waitForURL(/tab=many/)
  await page.getByText('period,origin,destination,top').waitFor()
  await assertAccessible(page, 'nothing given yet')
  await sets().fill('origin,top\nORD,3\n"SFO')
  await page.getByText('Line 3: a quote is not closed.').waitFor()
  assert.equal(await sets().getAttribute('aria-invalid'), 'true')
  await sets().fill('origin\ttop\tcolour\nORD\t3\t\nnowhere\tmany\t\nSFO\t\tred\nJFK\t\t')
  await page.getByText('2 of 4 rows have faults: correct them, or no jobs are created from them.').waitFor()
  const checked = await apiOf(here.service.url).jobs.checkMany({
    template_id: 'flight-delays',
    items: [
      { template_vars: { origin: 'nowhere', top: 'many' } },
      { template_vars: { origin: 'SFO', colour: 'red' } },
    ],
  })
  const shown = async (row: number) =>
    (await cells(row).first().innerText()).split('\n').map((line) => line.trim())
  for (const [index, { errors }] of checked.items.entries())
    assert.deepEqual(
      await shown(index + 1),
      errors.map(({ message }) => message),
    )
  assert.deepEqual(await page.locator('td.wrong').allInnerTexts(), ['nowhere', 'many', 'red'])
  await assertAccessible(page, 'rows that do not fit')
  await page.getByLabel('Only rows with faults').check()
  assert.equal(await page.locator('.sets tbody tr').count(), 2)
  assert.deepEqual((await apiOf(here.service.url).jobs.list()).items, [])
  here.assertSilent()
})

test('makes the jobs that fit, tells which were refused, follows them, and links to each', async () => {
  const { page } = here.watched
  await button(page, 'Create 2 jobs').click()
  await page.getByRole('heading', { name: '2 jobs created, 2 rows refused' }).waitFor()
  await page.getByText(/^2 of the 2 jobs of one call have ended \(2 completed\)/).waitFor()
  await assertAccessible(page, 'what became of each row')
  await cells(3).first().getByRole('link').click()
  await page.getByRole('heading', { name: /^Flight delays from New York \(JFK\)/ }).waitFor()
  await link(page, 'all jobs of the batch').click()
  await page.waitForURL(/\/jobs\?batch=/)
  await page.getByText(/^2 of the 2 jobs of one call/).waitFor()
  await page.locator('.list tbody tr').nth(1).waitFor()
  assert.equal(await page.locator('.list tbody tr').count(), 2)
  await assertAccessible(page, 'the jobs of one call')
  here.assertSilent()
})

test('reads a thousand sets from a file as drafts, and refuses one more', async () => {
  const { page } = here.watched
  const file = path.join(here.folder, 'sets.json')
  const many = (count: number) =>
    JSON.stringify(Array.from({ length: count }, (_, top) => ({ top: (top % 50) + 1 })))
  await page.goto('/templates/flight-delays?tab=many')
  await writeFile(file, many(1001))
  await page.getByLabel('Or from a file').setInputFiles(file)
  await page.getByText(/It holds 1,001 sets; one call takes at most 1,000/).waitFor()
  await writeFile(file, many(1000))
  await page.getByLabel('Or from a file').setInputFiles(file)
  await page.getByText('All 1,000 rows are valid.').waitFor()
  await page.getByLabel('Run them at once').uncheck()
  await page.getByText('Receiver name, priority, metadata').click()
  await page.getByLabel('Priority').fill('1000')
  await button(page, 'Create 1,000 jobs').click()
  await page.locator('.run-form .field-fault').waitFor()
  here.assertSilent([refusal(422)])
  await page.getByLabel('Priority').fill('5')
  await button(page, 'Create 1,000 jobs').click()
  await page.getByText(/^0 of the 1000 jobs of one call have ended \(1000 draft\)/).waitFor()
  await page.getByText('50 of 1,000 rows').waitFor()
  const [job] = (await apiOf(here.service.url).jobs.list({ job_status: 'draft', limit: 1 })).items
  assert.deepEqual([job?.template_vars.top, job?.presence_name], [50, null])
  await button(page, 'Create more').click()
  assert.equal(await sets().inputValue(), '')
  here.assertSilent()
})

test('a viewer is not offered the creation of many jobs', async () => {
  const { page, context, complaints } = await here.openAs('viewer')
  await page.goto('/templates/flight-delays?tab=many')
  await button(page, 'Run').waitFor()
  await settle(page)
  assert.equal(await link(page, 'Many at once').count(), 0)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the page is accessible, light and dark, and no wider than a phone', async () => {
  await assertPages(here.browser, here.service.url, ['/templates/flight-delays?tab=many'])
})
