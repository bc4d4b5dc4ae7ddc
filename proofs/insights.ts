/**
 * Measures the first page of the console over many insights in Chromium, against a service on SQLite: the time from
 * the opening of the address until the newest 25 are shown. Half of the openings must take at most a second.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { GRADES } from '@assay/model/insight'
import { ensureConsole } from '../packages/console/build.ts'
import { findings, jobInput, NODE, register } from '../packages/store/conformance/given.ts'
import { openStore } from '../packages/store/open.ts'
import { openBrowser, openPage, signIn } from '../test/console/browser.ts'
import { startService } from '../test/servers/service.ts'
import type { Proof, ProofInput } from './main.ts'

const TOKEN = 'proof-token-0123456789'
const MOST_MS = 1000
const SERIES = 500
const SHOWN = 25
const OPENINGS = 9

/** Makes the insight of one airport and week. */
function found(nth: number) {
  const airport = nth % SERIES
  const start = new Date(Date.UTC(2000, 0, 1 + 7 * Math.floor(nth / SERIES))).toISOString().slice(0, 10)
  const value = 0.2 + ((nth * 7) % 100) / 1000
  const title = `Late flights from airport ${airport}, week of ${start}`
  const headline = `${(100 * value).toFixed(1)}% of flights arrived 15 minutes or more late: weeks differ this much by chance, too.`
  const figure = { label: 'late flights', value, unit: null, text: `${(100 * value).toFixed(1)}%` }
  const period = { start, label: `week of ${start}` }
  const search = `${title} ${headline}`.toLowerCase()
  const grade = GRADES[nth % GRADES.length]!
  const card = { headline, grade, figure, period, tags: ['transport'], series: `of ${airport}`, search }
  return findings({ title, markdown: `# ${title}\n\n${'A long report. '.repeat(1000)}\n`, card })
}

async function fill(home: string, count: number): Promise<void> {
  const store = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  await register(store)
  let made = 0
  while (made < count) {
    const jobs = Array.from({ length: Math.min(100, count - made) }, () => jobInput({ presence_name: null }))
    await store.createJobs({ jobs, run: true })
    const claimed = await store.claimJobs({ node_id: NODE, limit: jobs.length })
    await Promise.all(
      claimed.map(({ job: { assignment_id, attempt } }, index) => {
        const lease = { assignment_id, attempt, node_id: NODE }
        return store.completeJob({ ...lease, insight_id: uuidv7(), ran_ms: 5, findings: found(made + index) })
      }),
    )
    made += claimed.length
  }
  await store.close()
}

async function openings(home: string): Promise<number[]> {
  await ensureConsole()
  const service = await startService({ home, wrapped: false, env: { ASSAY_TOKEN: TOKEN } })
  const browser = await openBrowser()
  try {
    const { page } = await openPage(browser, service.url)
    await signIn(page, TOKEN)
    const times: number[] = []
    while (times.length < OPENINGS) {
      await page.goto('/insights', { waitUntil: 'commit' })
      await page
        .locator('.found')
        .nth(SHOWN - 1)
        .waitFor()
      times.push(Math.round(await page.evaluate(() => performance.now())))
    }
    return times.toSorted((one, other) => one - other)
  } finally {
    await browser.close()
    service.signal('SIGTERM')
    await service.exited
  }
}

export const proof: Proof = {
  summary: 'the first page of the console over 20,000 insights stands within a second',
  async run({ number, log }: ProofInput) {
    const count = number('insights', 20_000)
    const home = mkdtempSync(path.join(tmpdir(), 'assay-insights-'))
    try {
      await fill(home, count)
      log(`${count} insights are stored`)
      const times = await openings(home)
      const median = times[Math.floor(times.length / 2)]!
      log(`the newest ${SHOWN} stand after ${median} ms (${times[0]} to ${times.at(-1)} ms)`)
      return median <= MOST_MS ? [] : [`the first page takes ${median} ms, more than ${MOST_MS} ms`]
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  },
}
