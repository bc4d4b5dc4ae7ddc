/** What the tests of the console do again and again: ask the API, look at a page, hold it to the rules of accessibility. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { createClient } from '../../src/client.ts'

export const TOKEN = 'console-token-0123456789'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** WCAG 2.2 A and AA, and what axe holds to be good practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  id: string
  help: string
  nodes: { target: string[]; failureSummary: string }[]
}

export async function assertAccessible(page: Page, what: string): Promise<void> {
  // By the debugger, which the policy of the page does not bind.
  const found = await page.evaluate(
    `${axe}; axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] }).then((result) => result.violations)`,
  )
  const told = (found as Violation[]).map(
    ({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join('; ')})`,
  )
  assert.deepEqual(told, [], what)
}

export function apiOf(url: string) {
  return createClient({ url, token: TOKEN })
}

/** Runs a template over the API to its end. */
export async function runJob(url: string, template_id: string, template_vars = {}) {
  const api = apiOf(url)
  const assignment_id = await api.jobs.create({ template_id, template_vars })
  await api.jobs.run(assignment_id)
  return api.jobs.wait(assignment_id)
}

/** The page has come to rest: nothing says that it is loading, and nothing is on its way. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.waitForFunction(() => document.querySelector('.waiting') === null)
}
