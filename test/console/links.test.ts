/** A link as its reader has it: a browser without a token, that asks for the page and for nothing else. */
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type Service, startService, temporaryFolder } from '../service.ts'
import { openBrowser, openPage } from './browser.ts'
import { apiOf, assertAccessible, runJob, TOKEN } from './steps.ts'

const home = temporaryFolder()
let service: Service
let browser: Browser

before(async () => {
  const started = await Promise.all([
    startService({ home: path.join(home.folder, 'home'), wrapped: false, env: { ASSAY_TOKEN: TOKEN } }),
    openBrowser(),
  ])
  service = started[0]
  browser = started[1]
})

after(async () => {
  await browser?.close()
  service?.signal('SIGTERM')
  await service?.exited
  home.remove()
})

test('a reader sees the whole page, and the browser asks for nothing but it', async () => {
  const { insight_id } = await runJob(service.url, 'nile-flow')
  const link = await apiOf(service.url).links.create(insight_id!, { expires_in: 3600 })
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
  await assertAccessible(page, 'the page of a link')
  assert.doesNotMatch(service.log(), new RegExp(link.url.split('/').at(-1)!), 'the log tells no address')

  await apiOf(service.url).links.delete(insight_id!, link.link_id)
  const gone = await page.goto(link.url)
  assert.equal(gone?.status(), 404)
  await page.getByRole('heading', { name: 'Nothing to read here' }).waitFor()
  await assertAccessible(page, 'the page of a link that is gone')
  await context.close()
})
