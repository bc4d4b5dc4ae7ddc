/**
 * Tests uploads in the console: sent, checked, replaced, canceled, read back, deleted, and chosen if a template asks
 * for a file.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { rowsOf, xlsx } from '../../packages/engine/sources/sheets/book-fixture.ts'
import { openPage, signIn } from './browser.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, refusal, settle, TOKEN } from './steps.ts'

const here = stand()
const SALES = 'day,region,amount\n2024-01-01,north,120.50\n2024-01-02,south,80.25\n'
const TEMPLATE = `---
title: Sales by region
variables:
  sales: { type: file, required: true }
sources:
  sales: { file: "{{ vars.sales }}" }
---

\`\`\`sql by_region
select region, sum(amount) as amount from sales group by region order by region
\`\`\`

# Sales by region

{% table by_region %}
`

const chooser = (page: Page) => page.getByLabel('Drop files here, or choose them')
const csv = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

test('without a file it says what files are for, and how one is sent by the API', async () => {
  const { page } = here.watched
  await link(page, 'Files').click()
  await page.getByText('No file was uploaded yet').waitFor()
  assert.match(await page.locator('.curl pre').innerText(), /^curl -s -T sales\.csv \S+\/v1alpha\/files\//)
  await assertAccessible(page, 'no files')
  here.assertSilent()
})

test('takes in what is chosen and what is dropped, lists it by folder, and refuses a bad one with its line', async () => {
  const { page } = here.watched
  await page.getByLabel('Into the folder').fill('2024/sales')
  await chooser(page).setInputFiles([
    csv('north.csv', SALES),
    csv('bad.json', '[{"day": 1},\n{"day": tomorrow}]'),
    csv('notes.txt', 'none of these'),
  ])
  await page.getByText('3 columns: day DATE, region VARCHAR, amount').waitFor()
  await page
    .getByText(/line 2, column 10/)
    .first()
    .waitFor()
  await page
    .getByText(/must end in \.csv/)
    .first()
    .waitFor()
  await assertAccessible(page, 'uploads that were taken and refused')
  here.assertSilent([refusal(422)])
  await page.getByLabel('Into the folder').fill('')
  const dropped = await page.evaluateHandle((text) => {
    const data = new DataTransfer()
    data.items.add(new File([text], 'all.csv'))
    return data
  }, SALES)
  await page.locator('.drop').dispatchEvent('dragover', { dataTransfer: dropped })
  await page.locator('.drop.over').waitFor()
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
  await page.getByRole('cell', { name: 'all.csv', exact: true }).waitFor()
  assert.deepEqual(await page.locator('tr.folder').allInnerTexts(), [
    'Not in a folder · one file, 65 bytes',
    '2024/sales/ · one file, 65 bytes',
  ])
  await link(page, '2024/sales/').click()
  await page.waitForURL(/in=2024/)
  await page.getByRole('cell', { name: 'all.csv', exact: true }).waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('Into the folder').inputValue(), '', 'what was typed stays')
  await page.getByRole('navigation', { name: 'Folders' }).getByText('2024', { exact: true }).click()
  await page.waitForURL(/in=2024%2F$/)
  here.assertSilent()
})

test('replaces a file of the same name only when that is asked for', async () => {
  const { page } = here.watched
  const api = apiOf(here.service.url)
  await page.goto('/files')
  await chooser(page).setInputFiles(csv('all.csv', SALES.replaceAll('2024', '2025')))
  await page.getByText('A file of this name exists.').waitFor()
  assert.equal(await (await api.files.read('all.csv')).text(), SALES)
  await assertAccessible(page, 'a file that is there already')
  await button(page, 'Replace all.csv').click()
  await page.getByText('uploaded', { exact: true }).waitFor()
  assert.match(await (await api.files.read('all.csv')).text(), /2025-01-01/)
  await button(page, 'Dismiss all.csv').click()
  await page.getByRole('list', { name: 'Uploads' }).waitFor({ state: 'detached' })
  here.assertSilent()
})

test('offers to leave out the broken rows of a file, and takes it in so', async () => {
  const { page } = here.watched
  await chooser(page).setInputFiles([csv('ragged.csv', `${SALES}2024-01-03,west\n2024-01-04,east,9.50\n`)])
  await page
    .getByText(/line 4, column 16 has 2 values where 3 are expected/)
    .first()
    .waitFor()
  await button(page, 'Leave out such rows, and count them').click()
  const row = page.locator('.upload').filter({ hasText: 'ragged.csv' })
  await row.getByText('✓').waitFor()
  here.assertSilent([refusal(422)])
  await apiOf(here.service.url).files.delete('ragged.csv')
})

test('tells how a file is read and how sure that is, and offers the other reading of what is likely', async () => {
  const { page } = here.watched
  await chooser(page).setInputFiles([
    csv('read.csv', 'day;share;paid\n13/02/2024;5 %;$1.50\n14/02/2024;7 %;$2\n'),
  ])
  const how = page.getByRole('list', { name: 'How read.csv is read' })
  await how.getByText('paid').waitFor()
  assert.deepEqual(await how.locator('li').allInnerTexts(), [
    'Encoding: utf-8 (settled by the data)',
    'Separator: a semicolon (settled by the data)',
    'Names: the first row has them (settled by the data)',
    'day: dates with the day first (settled by the data)',
    'share: numbers with a %, as shares (likely)',
    'paid: numbers in $ (settled by the data)',
  ])
  await assertAccessible(page, 'how a file is read')
  const other = link(page, 'Make a report with share as 12.5')
  assert.match((await other.getAttribute('href'))!, /percent/)
  await apiOf(here.service.url).files.delete('read.csv')
  here.assertSilent()
})

test('tells the fault of a file that is larger than what a connection holds, while it comes', async () => {
  const { page } = here.watched
  const file = path.join(here.folder, 'large.json')
  await writeFile(file, `[{"day": tomorrow},\n${' '.repeat(24 << 20)}1]`)
  await chooser(page).setInputFiles(file)
  await page
    .getByText(/line 1, column 11/)
    .first()
    .waitFor()
  await button(page, 'Dismiss large.json').click()
  here.assertSilent([refusal(422)])
})

test('shows how far an upload is, goes on while another page is looked at, and is canceled without a trace', async (t) => {
  const { port } = new URL(here.service.url)
  // The proxy passes on a first part of what the browser sends, and then waits.
  const held: Socket[] = []
  let sent = 0
  const proxy = createServer((inner) => {
    const outer = new (inner.constructor as new () => Socket)().connect(Number(port), '127.0.0.1')
    held.push(inner, outer)
    inner.on('error', () => outer.destroy()).on('close', () => outer.destroy())
    outer.on('error', () => inner.destroy()).pipe(inner)
    inner.on('data', (bytes) => {
      outer.write(bytes)
      sent += bytes.length
      if (sent > 4 << 20) inner.pause()
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const address = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
  const { page, context } = await openPage(here.browser, address)
  t.after(async () => {
    await context.close()
    for (const socket of held) socket.destroy()
    proxy.close()
  })
  await signIn(page, TOKEN)
  await page.goto('/files')
  await settle(page)
  const file = path.join(here.folder, 'slow.csv')
  await writeFile(file, `day\n${'2024-01-01\n'.repeat(4_000_000)}`)
  await chooser(page).setInputFiles(file)
  const going = page.getByRole('progressbar', { name: 'Upload of slow.csv' })
  await page.getByText(/^([1-9]|[1-9]\d) % of 44 MB$/).waitFor()
  await link(page, 'Assay').click()
  await page.waitForURL(/insights/)
  await page.goBack()
  await going.waitFor()
  await button(page, 'Cancel slow.csv').click()
  await page.getByText('canceled: nothing is stored').waitFor()
  const { items } = await apiOf(here.service.url).files.list({ prefix: 'slow' })
  assert.deepEqual(items, [])
})

test('gives a file back as it came, and deletes it after asking', async () => {
  const { page } = here.watched
  await page.goto('/files')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    button(page, 'Download 2024/sales/north.csv').click(),
  ])
  assert.equal(download.suggestedFilename(), 'north.csv')
  assert.equal(await readFile(await download.path(), 'utf8'), SALES)
  await button(page, 'Delete all.csv').click()
  await assertAccessible(page, 'the question before a deletion')
  await button(page, 'Delete the file').click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await button(page, 'Delete all.csv').waitFor({ state: 'detached' })
  const { items } = await apiOf(here.service.url).files.list()
  assert.deepEqual(
    items.map((item) => item.path),
    ['2024/sales/north.csv'],
  )
  here.assertSilent()
})

test('offers uploads where a template asks for a file, takes one in on the spot, and runs with it', async () => {
  const { page } = here.watched
  await apiOf(here.service.url).templates.put('regions', TEMPLATE)
  await page.goto('/templates/regions')
  const sales = page.getByLabel('sales', { exact: false }).and(page.locator('select'))
  await sales.waitFor()
  assert.deepEqual(await sales.locator('optgroup[label=Uploaded] option').allInnerTexts(), [
    'uploads/2024/sales/north.csv',
  ])
  await button(page, 'Upload a file for sales').click()
  const dialog = page.getByRole('dialog', { name: 'Upload a file' })
  await dialog.getByLabel('Into the folder').fill('2025')
  await chooser(page).setInputFiles(csv('new.csv', SALES.replaceAll('north', 'west')))
  await dialog.getByText('uploaded', { exact: true }).waitFor()
  await assertAccessible(page, 'a file that was uploaded for a variable')
  await button(page, 'Use it').click()
  assert.equal(await sales.inputValue(), 'uploads/2025/new.csv')
  await assertAccessible(page, 'a file that is chosen')
  await button(page, 'Run').click()
  await page.getByRole('heading', { name: 'Sales by region' }).waitFor()
  await page.getByRole('cell', { name: 'west' }).waitFor()
  here.assertSilent()
})

test('makes a report of a file in the editor, and asks what can be read in two ways', async () => {
  const { page } = here.watched
  const rows = Array.from(
    { length: 120 },
    (_, at) => `0${1 + (at % 9)}/0${1 + (at % 7)}/2025,${at},${at % 2 ? 'DE' : 'FR'}`,
  )
  await apiOf(here.service.url).files.put('report.csv', `due,amount,country\n${rows.join('\n')}\n`)
  await page.goto('/files')
  await link(page, 'report.csv').click()
  await page.getByRole('columnheader', { name: /^amount whole number, / }).waitFor()
  assert.equal(await page.getByRole('group', { name: 'First rows' }).getByRole('row').count(), 9)
  await page.getByText('left out until you choose').waitFor()
  await assertAccessible(page, 'the rows of a file')
  await link(page, 'Make a report').click()
  await page.getByRole('heading', { name: 'New report from report.csv' }).waitFor()
  await page.getByText('left out until you choose').waitFor()
  await assertAccessible(page, 'a draft that asks')
  assert.equal(
    await page.getByRole('region', { name: 'Questions' }).getByText('write dates').count(),
    0,
    'a question has buttons and no syntax',
  )
  await page.locator('a[title="dates: dmy"]').click()
  await page.getByText('What this draft assumes').waitFor()
  await page.getByText('left out until you choose').waitFor({ state: 'detached' })
  await page.getByText('It is saved as report').waitFor()
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.locator('.preview .insight-title').getByText('Report').waitFor()

  // The choice is kept with the file, and is not asked again until it is deleted.
  await page.goto('/files')
  await link(page, 'Make a report from report.csv').click()
  await page
    .getByText('The file is read as was chosen: dates: dmy.')
    .waitFor()
    .catch(async (error: Error) => {
      throw new Error(await page.locator('main').innerText(), { cause: error })
    })
  assert.equal(await page.getByText('left out until you choose').count(), 0)
  await assertAccessible(page, 'a draft of a file that was settled before')
  await link(page, 'Choose again').click()
  await page.getByText('left out until you choose').waitFor()
  here.assertSilent()
})

test('builds a metric and a report of a file by choices, which write the text beside them', async () => {
  const { page } = here.watched
  const rows = Array.from(
    { length: 120 },
    (_, at) => `0${1 + (at % 9)}/0${1 + (at % 7)}/2025,${(at * 7) % 31}.5,${at % 2 ? 'DE' : 'FR'}`,
  )
  const api = apiOf(here.service.url)
  await api.files.put('choices.csv', `due,amount,country\n${rows.join('\n')}\n`)
  await api.drafts.create({ file: 'uploads/choices.csv', dialect: ['dates: dmy'], keep: true })
  await page.goto('/metric')
  await link(page, 'New metric').click()
  await page.getByLabel('Data').selectOption('choices.csv')
  const text = page.getByRole('textbox', { name: 'Definition of the metric' })
  await text.getByText('sum("amount")').waitFor()
  await page.getByLabel('Measure').selectOption('Mean of a column')
  await page.getByLabel('One value for each').selectOption('week')
  await page.getByLabel('Unit').fill('EUR')
  await text.getByText('avg("amount")').waitFor()
  await text.getByText('file: "uploads/choices.csv", dates: dmy').waitFor()
  await page.getByText('No faults found').waitFor()
  await assertAccessible(page, 'a metric that is built')

  await text.press('ControlOrMeta+End')
  await page.keyboard.type('# by hand')
  await page.getByLabel('Unit').fill('USD')
  await page.getByText('The text was changed by hand').waitFor()
  assert.match(await text.innerText(), /unit: EUR[\s\S]*# by hand/)
  await button(page, 'Write the text anew').click()
  await text.getByText('unit: USD').waitFor()
  await page.getByText('No faults found').waitFor()
  await button(page, 'Save choices_mean_amount').click()
  await page.getByRole('heading', { name: 'mean amount', level: 1 }).waitFor()

  await link(page, 'Ask a question').click()
  const source = page.getByRole('textbox', { name: 'Source of the template' })
  await source.getByText('metric: choices_mean_amount').first().waitFor()
  await page.getByLabel('Question').selectOption('Which times stand out?')
  await source.getByText('method: anomalies').waitFor()
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.locator('.preview .insight-title').waitFor()

  await page.goto('/templates/new?file=uploads/choices.csv')
  await page.getByText('Build it by choosing').click()
  await page.getByLabel('Question').selectOption('Which parts make up most of it?')
  await source.getByText('method: pareto').waitFor()
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.locator('.preview').getByRole('cell', { name: 'DE' }).first().waitFor()
  await assertAccessible(page, 'a template that is built')
  await source.press('ControlOrMeta+End')
  await page.keyboard.type('{{ answer.hea')
  await page.getByRole('option', { name: 'headline' }).waitFor()
  await page.keyboard.press('Enter')
  await source.getByText('{{ answer.headline').last().waitFor()
  await source.press('ControlOrMeta+Home')
  await source.getByText('select').first().click()
  await page.keyboard.press('End')
  await page.keyboard.type(', am')
  await page.getByRole('option', { name: 'amountcolumn' }).waitFor()
  // The whole page must be in view. An element below the bar of the sections would count as a target that is too
  // small.
  await page.setViewportSize({ width: 1280, height: 3000 })
  await assertAccessible(page, 'an editor that completes a column')
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.keyboard.press('Escape')
  await api.metrics.delete('choices_mean_amount')
  await api.files.delete('choices.csv')
  here.assertSilent()
})

test('takes in a workbook, asks which sheet, and makes a report of the chosen one', async () => {
  const { page } = here.watched
  const cells = Array.from({ length: 40 }, (_, at) => [at % 2 ? 'DE' : 'FR', at + 0.5])
  const buffer = xlsx({
    sheets: [
      {
        name: 'Notes',
        rows: rowsOf([
          ['about', 'by'],
          ['the plan', 'Ada'],
        ]),
      },
      { name: 'Plan', rows: rowsOf([['country', 'amount'], ...cells]) },
    ],
  })
  const mimeType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
  await page.goto('/files')
  await chooser(page).setInputFiles([{ name: 'plan.xlsx', mimeType, buffer }])
  await page.getByText('2 columns: about VARCHAR, by VARCHAR').waitFor()
  await page.getByText('“Notes” was read, the first of 2.').waitFor()
  await assertAccessible(page, 'a workbook with two sheets')
  await link(page, 'Make a report with Sheets as Plan').click()
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.locator('.preview .insight-title').getByText('Plan').waitFor()
  await page.locator('.preview').getByRole('cell', { name: 'FR' }).waitFor()
  await page.goto('/files')
  here.assertSilent()
})

test('an analyst previews a report and keeps it as her draft, and a publisher finds and saves it', async () => {
  const { page, context, complaints } = await here.openAs('analyst')
  await page.goto('/templates/new?file=uploads/2025/new.csv')
  await page.getByText('Publishing takes the scope publisher.').waitFor()
  assert.equal(await button(page, 'Save').count(), 0)
  await page.getByText('It is saved as new').click()
  await page.getByLabel(/^Id/).fill('kept-report')
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.locator('.preview .insight-title').waitFor()
  const coming = page.waitForEvent('download')
  await button(page, 'Save as PDF').click()
  const saved = await coming
  assert.equal(saved.suggestedFilename(), 'kept-report.pdf')
  assert.match(readFileSync(await saved.path(), 'latin1'), /^%PDF-/)
  await button(page, 'Keep as a draft').click()
  await page.getByText('Kept as your draft of kept-report.').waitFor()
  await assertAccessible(page, 'a draft of an analyst')
  assert.deepEqual(complaints, [])
  await context.close()
  const publisher = here.watched.page
  await publisher.goto('/templates')
  await publisher.getByRole('region', { name: 'Drafts' }).waitFor()
  await assertAccessible(publisher, 'drafts above the templates')
  await link(publisher, 'kept-report').click()
  await button(publisher, 'Save').click()
  await publisher.waitForURL(/\/templates\/kept-report$/)
  await publisher.goto('/templates')
  await publisher.locator('.card h2').first().waitFor()
  assert.equal(await publisher.getByRole('region', { name: 'Drafts' }).count(), 0, 'a saved draft is over')
})

test('a viewer sees and downloads files, and can neither put in nor delete', async () => {
  const { page, context, complaints } = await here.openAs('viewer')
  await page.goto('/files')
  await button(page, 'Download 2025/new.csv').waitFor()
  assert.equal(await chooser(page).count(), 0)
  assert.equal(await button(page, /^Delete/).count(), 0)
  assert.equal(await link(page, /^Make a report/).count(), 0)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the page of files is accessible, light and dark, and no wider than a phone', async () => {
  const deep = `${Array.from({ length: 7 }, (_, index) => `a-folder-${index}`).join('/')}/a-long-name-of-a-file-${'x'.repeat(40)}.csv`
  await apiOf(here.service.url).files.put(deep, SALES)
  await assertPages(here.browser, here.service.url, [
    '/files',
    '/files?in=2024/',
    '/files?in=none',
    '/data?file=uploads/2025/new.csv',
    '/templates/regions',
  ])
})
