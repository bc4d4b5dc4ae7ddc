/**
 * Tests schedules in the console: made with the due times that the service predicts, run, changed, paused, deleted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { eventually } from '../servers/service.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, refusal, settle } from './steps.ts'

const here = stand()
const dueTimes = () => here.watched.page.getByRole('status', { name: 'The next due times' })

test('an empty list says what a schedule does, and how one is made by the API', async () => {
  const { page } = here.watched
  await link(page, 'Schedules').click()
  await page.getByText('No schedule yet').waitFor()
  const line = await page.locator('.curl pre').innerText()
  assert.match(line, new RegExp(`^curl -s ${here.service.url}/v1alpha/schedules \\\\\\n  -H "Authorization`))
  await assertAccessible(page, 'no schedules')
  here.assertSilent()
})

test('foretells due times while a line is typed, tells each fault beside its field, and makes the schedule', async () => {
  const { page } = here.watched
  await page.goto('/templates/flight-delays')
  await link(page, 'Schedule').click()
  await page.waitForURL(/schedules\/new\?template=flight-delays/)
  await page.getByText('Choose days and a time, or write an expression, to see its due times.').waitFor()
  const cron = page.getByLabel('Cron expression')
  await cron.fill('0 25 * * *')
  await page.getByText('"25" is not within 0 to 23').waitFor()
  assert.equal(await cron.getAttribute('aria-invalid'), 'true')
  await assertAccessible(page, 'a line that is wrong')
  await page.getByLabel('At', { exact: true }).fill('18:00')
  await button(page, 'Last of the month').click()
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await dueTimes()
    .getByText(/on the last day of each month at 18:00/)
    .waitFor()
  await dueTimes().locator('li').nth(4).waitFor()
  const { next_runs } = await apiOf(here.service.url).schedules.preview({
    cron: '0 18 L * *',
    time_zone: 'Europe/Berlin',
  })
  // The due times of the earlier expression stay until the new ones arrive.
  const shown = (): Promise<(string | null)[]> =>
    dueTimes()
      .locator('time')
      .evaluateAll((times) => times.map((time) => time.getAttribute('datetime')))
  await eventually(async () => isDeepStrictEqual(await shown(), next_runs), `${next_runs.join()} are shown`)
  await page.getByLabel('origin').fill('nowhere')
  await button(page, 'Create').click()
  const name = page.getByLabel('Name', { exact: false }).first()
  await page.locator('.field-fault').waitFor()
  assert.equal(await name.getAttribute('aria-invalid'), 'true', 'the name that is missing')
  await name.fill('Delays of the month')
  await button(page, 'Create').click()
  await page.locator('.group .field-fault').waitFor()
  assert.equal(await page.getByLabel('origin').getAttribute('aria-invalid'), 'true')
  await page.getByLabel('origin').fill('ORD')
  await page.reload()
  assert.equal(await page.getByLabel('origin').inputValue(), 'ORD', 'what was typed is kept')
  await page.getByLabel('Missed due times').selectOption('all')
  await page.getByLabel('While an earlier job has not ended').selectOption('skip')
  await page.getByText('Receiver name, priority, metadata').click()
  await button(page, 'Add metadata').click()
  await page.getByLabel('Name 1').fill('team')
  await page.getByLabel('Text 1').fill('operations')
  await assertAccessible(page, 'a schedule with metadata')
  here.assertSilent([refusal(422)])
  await button(page, 'Create').click()
  await page.getByText(/cannot be all if overlap is skip/).waitFor()
  await page.getByLabel('While an earlier job has not ended').selectOption('queue')
  await button(page, 'Create').click()
  await page.getByRole('heading', { name: 'Delays of the month', level: 1 }).waitFor()
  const [made] = (await apiOf(here.service.url).schedules.list()).items
  assert.ok(made)
  assert.deepEqual(made.template_vars, { origin: 'ORD' }, 'what the form left alone is left to the template')
  assert.deepEqual(made.metadata, { team: 'operations' })
  assert.deepEqual(
    [made.cron, made.time_zone, made.missed, made.missed_limit, made.overlap, made.paused],
    ['0 18 L * *', 'Europe/Berlin', 'all', 10, 'queue', false],
  )
  here.assertSilent([refusal(422)])
})

test('runs a schedule now; its job names it, and its page lists the job with its state', async () => {
  const { page } = here.watched
  await button(page, 'Run now').click()
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/)
  await page.getByText(/Created by the schedule Delays of the month, run by hand/).waitFor()
  await page.getByRole('heading', { name: /^Flight delays from Chicago \(ORD\)/ }).waitFor()
  await assertAccessible(page, 'a job of a schedule')
  await link(page, 'Delays of the month').click()
  await page.locator('.list').getByText('completed').waitFor()
  await link(page, 'All jobs of this schedule').click()
  await page.waitForURL(/\/jobs\?schedule=/)
  await page.getByText(/Only jobs that the schedule Delays of the month created/).waitFor()
  await page.locator('tbody tr').first().waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  await link(page, 'Show all jobs').click()
  await page.waitForURL((url) => url.search === '')
  await link(page, 'Schedules').click()
  await page.getByRole('cell', { name: /completed/ }).waitFor()
  here.assertSilent()
})

test('changes a schedule, pauses and resumes it, and deletes it after asking', async () => {
  const { page } = here.watched
  await link(page, 'Delays of the month').click()
  await link(page, 'Edit').click()
  assert.equal(await page.getByLabel('Cron expression').inputValue(), '0 18 L * *')
  await dueTimes().locator('li').nth(4).waitFor()
  await page.getByLabel('Template', { exact: false }).first().selectOption('penguins')
  await page.getByLabel('Cron expression').fill('30 6 * * MON-FRI')
  assert.equal(await page.getByLabel('Text 1').inputValue(), 'operations')
  await page.getByLabel('Name 1').fill('')
  await page.getByText('has no name').waitFor()
  await page.getByLabel('Name 1').fill('team')
  await button(page, 'Add metadata').click()
  await page.getByLabel('Name 2').fill('report')
  await page.getByLabel('Text 2').fill('x'.repeat(2000))
  await button(page, 'Save').click()
  await page.getByText(/must have at most \d+ characters/).waitFor()
  await page.getByLabel('Text 2').fill('daily')
  await button(page, 'Remove row 1').click()
  await page.getByText('Start and end').click()
  await page.getByLabel('Starts at').fill('2040-01-02T00:00')
  await dueTimes().getByText('Mon, 2 Jan 2040, 06:30').waitFor()
  await button(page, 'Save').click()
  await page.getByText('30 6 * * MON-FRI').waitFor()
  const [changed] = (await apiOf(here.service.url).schedules.list()).items
  assert.ok(changed)
  assert.deepEqual([changed.template_id, changed.template_vars], ['penguins', {}])
  assert.deepEqual(changed.metadata, { report: 'daily' })
  assert.equal(changed.starts_at, '2040-01-02T00:00:00.000Z')
  await button(page, 'Pause').click()
  await page.getByText(/^The schedule is paused./).waitFor()
  await assertAccessible(page, 'a paused schedule')
  await button(page, 'Resume').click()
  await page.getByText('Mon, 2 Jan 2040, 06:30').waitFor()
  await button(page, 'Delete').click()
  await assertAccessible(page, 'the question before a deletion')
  await button(page, 'Delete the schedule').click()
  await page.getByText('No schedule yet').waitFor()
  const jobs = await apiOf(here.service.url).jobs.list({ schedule_id: changed.schedule_id })
  assert.equal(jobs.items.length, 1, 'its jobs stay')
  await page.goto(`/jobs/${jobs.items[0]?.assignment_id}`)
  await page.getByText('(it was deleted)').waitFor()
  here.assertSilent([refusal(404), refusal(422)])
})

test('tells why a due time made no job, and what to do about it', async () => {
  const { page } = here.watched
  const api = apiOf(here.service.url)
  await api.templates.put('fleeting', '---\ntitle: Fleeting\n---\n# Fleeting\n')
  const made = await api.schedules.create({
    name: 'Of the fleeting',
    template_id: 'fleeting',
    cron: '@hourly',
  })
  await api.templates.delete('fleeting')
  await page.goto(`/schedules/${made.schedule_id}`)
  await button(page, 'Run now').click()
  await page
    .getByText(/fleeting/)
    .and(page.locator('.fault p'))
    .waitFor()
  await page.getByText('More about this error').waitFor()
  await assertAccessible(page, 'a schedule whose template is gone')
  await link(page, 'Edit').click()
  await page.getByText('fleeting (deleted)').waitFor({ state: 'attached' })
  await settle(page)
  here.assertSilent([refusal(404)])
})

test('a personal template is run and scheduled for readers, and its insight says whose it is', async () => {
  const { page } = here.watched
  const api = apiOf(here.service.url)
  await api.files.put('sales.csv', 'region,amount\nnorth,10\nwest,7\nnorth,5\n')
  const source = 'sales: { file: uploads/sales.csv, rows: region = $reader.region }'
  const body = '```sql total\nSELECT sum(amount) AS amount FROM sales\n```\nSold: {{ total[0].amount }}.\n'
  await api.templates.put('my-sales', `---\ntitle: My sales\nsources:\n  ${source}\n---\n\n${body}`)
  await api.readers.putMany({
    readers: [
      { reader_id: 'ada', name: 'Ada', attributes: { region: 'north' } },
      { reader_id: 'bob', name: 'Bob', attributes: { region: 'west' } },
    ],
  })
  await page.goto('/templates/my-sales')
  const reader = page.getByLabel('Reader', { exact: true })
  await reader.fill('zoe')
  await button(page, 'Run').click()
  await page.getByText('names no reader of this workspace: zoe').waitFor()
  await assertAccessible(page, 'a run for nobody known')
  await reader.fill('ada')
  await page.getByLabel('the reader, at the reader’s address').check()
  await button(page, 'Run').click()
  await page.getByText('means mail to ada, who has no address').waitFor()
  await page.getByLabel('the reader, at the reader’s address').uncheck()
  await button(page, 'Run').click()
  await page.getByText('For ada (region north)').waitFor()
  await page.getByText('Sold: 15').waitFor()
  await assertAccessible(page, 'a job of a reader')
  await link(page, 'My sales').click()
  await page.waitForURL(/\/insights\//)
  await page.getByText('For ada (region north)').waitFor()
  here.assertSilent([refusal(422), refusal(422)])

  await page.goto('/templates/my-sales?tab=many')
  await page.getByLabel('Sets of variables').fill('reader_id\nbob\nzoe')
  await page.getByText('One of 2 rows has a fault').waitFor()
  await page.getByText('names no reader of this workspace: zoe').waitFor()
  await assertAccessible(page, 'runs for many readers')
  await button(page, 'Create one job').click()
  await page.getByRole('heading', { name: 'one job created, one row refused' }).waitFor()
  const newest = async () => (await api.jobs.list({ limit: 1 })).items[0]?.reader_id
  assert.equal(await newest(), 'bob')
  await page.goto('/templates/my-sales/edit')
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByLabel('Reader for the preview').fill('id: any\nregion: west')
  await button(page, 'Preview').click()
  await preview.getByText('Sold: 7').waitFor()
  await assertAccessible(page, 'a preview for a reader')
  here.assertSilent()

  await page.goto('/schedules/new?template=flight-delays')
  await page.getByText('Choose days and a time, or').waitFor()
  await settle(page)
  assert.equal(await page.getByLabel('For', { exact: true }).count(), 0)
  await page.goto('/schedules/new?template=my-sales')
  await page.getByLabel('Name', { exact: false }).first().fill('Sales of each')
  await page.getByLabel('Cron expression').fill('0 7 * * MON')
  await button(page, 'Create').click()
  await page.getByText('give the schedule readers').waitFor()
  await page.getByLabel('For', { exact: true }).selectOption('where')
  await button(page, 'Create').click()
  await page.getByText('must name an attribute or more').waitFor()
  await page.getByLabel('Attributes').fill('region: ["north", "south"]')
  await assertAccessible(page, 'a schedule over readers')
  await button(page, 'Create').click()
  await page.getByText('those with region north or south').waitFor()
  const of = async () =>
    (await api.schedules.list()).items.find(({ name }) => name === 'Sales of each')?.readers
  assert.deepEqual(await of(), { where: { region: ['north', 'south'] } })
  await link(page, 'Edit').click()
  assert.equal(await page.getByLabel('Attributes').inputValue(), 'region: ["north","south"]')
  await page.getByLabel('For', { exact: true }).selectOption('chosen')
  await page.getByLabel('Readers').fill('ada\nbob')
  await button(page, 'Save').click()
  await page.getByText('ada, bob').waitFor()
  assert.deepEqual(await of(), ['ada', 'bob'])
  await button(page, 'Run now').click()
  await page.getByLabel('Reader required').fill('zoe')
  await button(page, 'Run').click()
  await page.getByText('names no reader of this workspace: zoe').waitFor()
  await assertAccessible(page, 'a schedule that is run for one reader')
  await page.getByLabel('Reader required').fill('bob')
  await button(page, 'Run').click()
  await page.getByText('For bob (region west)').waitFor()
  await page.getByText('Sold: 7').waitFor()
  here.assertSilent([refusal(422)])
})

test('a viewer sees schedules and no button that would be refused', async () => {
  const { page, context, complaints } = await here.openAs('viewer')
  const [schedule] = (await apiOf(here.service.url).schedules.list()).items
  await page.goto('/schedules')
  await link(page, 'Of the fleeting').waitFor()
  assert.equal(await link(page, 'New schedule').count(), 0)
  await page.goto(`/schedules/${schedule?.schedule_id}`)
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  await settle(page)
  assert.equal(await page.locator('.page-head :is(button, a)').count(), 0)
  await page.goto('/templates/penguins')
  await button(page, 'Run').waitFor()
  assert.equal(await link(page, 'Schedule').count(), 0)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('the pages of schedules are accessible, light and dark, and no wider than a phone', async () => {
  const api = apiOf(here.service.url)
  const { schedule_id } = await api.schedules.create({
    name: 'A name as long as the people who look after reports like to give to what they look after',
    template_id: 'flight-delays',
    cron: '*/5 8-18 1-15,20 JAN-JUN MON-FRI',
    time_zone: 'America/Argentina/ComodRivadavia',
  })
  await assertPages(here.browser, here.service.url, [
    '/schedules',
    '/schedules/new',
    '/schedules/new?template=flight-delays',
    `/schedules/${schedule_id}`,
    `/schedules/${schedule_id}/edit`,
  ])
})
