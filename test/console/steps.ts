/** Steps that the console's tests share: call the API, open a page, check its accessibility. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createClient } from '@assay/client'
import type { Browser, Page } from 'playwright-core'
import { openPage, signIn, type Watched } from './browser.ts'

export const TOKEN = 'console-token-0123456789'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules of WCAG 2.2 A and AA, and those that axe calls good practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  id: string
  help: string
  nodes: { target: string[]; html: string; failureSummary: string }[]
}

export async function assertAccessible(page: Page, what: string): Promise<void> {
  // The script is added through the debugger, to which the page's policy does not apply. It is added once for each
  // document, because reading axe takes half of its time.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(`${axe}; undefined`)
  const found = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] }).then((result) => result.violations)`,
  )
  const told = (found as Violation[]).map(
    ({ id, help, nodes }) =>
      `${id}: ${help} (${nodes.map(({ target, html, failureSummary }) => `${target.join(' ')} ${html}: ${failureSummary}`).join('; ')})`,
  )
  assert.deepEqual(told, [], what)
}

export function apiOf(url: string) {
  return createClient({ url, token: TOKEN })
}

/** Runs a template over the API to its end. */
export async function runJob(url: string, template_id: string, template_vars = {}, notify: string[] = []) {
  const api = apiOf(url)
  const assignment_id = await api.jobs.create({ template_id, template_vars, notify })
  await api.jobs.run(assignment_id)
  return api.jobs.wait(assignment_id)
}

/** Waits until the page shows no loading mark and no request is open. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.waitForFunction(() => document.querySelector('.waiting') === null)
}

export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
export const link = (page: Page, name: string | RegExp) =>
  page.getByRole('link', { name, exact: typeof name === 'string' })

/** Asserts that the browser reported no fault since the last call. */
export function assertSilent({ complaints }: Watched, allowed: RegExp[] = []): void {
  assert.deepEqual(
    complaints.splice(0).filter((text) => !allowed.some((pattern) => pattern.test(text))),
    [],
  )
}

/**
 * Returns the message of a refused request. Chromium reports every refusal as an error of the console, also one that
 * the page shows to its user.
 */
export const refusal = (status: number): RegExp =>
  new RegExp(`^error: Failed to load resource: .*status of ${status}`)

const TABLET = { width: 820, height: 900 }

/**
 * Asserts that each address is accessible in dark on a phone, as it is loaded, and in light on a wide screen, to which
 * it is then changed. No page may be wider than its window, nor than a tablet.
 */
export async function assertPages(
  browser: Browser,
  url: string,
  addresses: readonly string[],
): Promise<void> {
  const phone = { dark: true, width: 390, height: 900 }
  const { page, complaints, context } = await openPage(browser, url, phone)
  await signIn(page, TOKEN)
  for (const address of addresses) {
    await page.goto(address)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    for (const { dark, width, height } of [phone, { dark: false, width: 1280, height: 900 }]) {
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      await page.setViewportSize({ width, height })
      await settle(page)
      await assertAccessible(page, `${address} ${dark ? 'dark, on a phone' : 'light'}`)
      const shown = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(shown <= width, `${address} is ${shown} wide`)
    }
    await page.setViewportSize(TABLET)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= TABLET.width, `${address} is ${wide} wide on a tablet`)
  }
  assert.deepEqual(complaints, [])
  await context.close()
}
