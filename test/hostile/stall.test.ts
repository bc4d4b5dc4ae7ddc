/** The short form of proofs/stall.ts; the long one is "npm run proof -- stall". */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { openapiText } from '../../packages/service/api/openapi.ts'
import { ROUTES } from '../../packages/service/api/routes.ts'
import { corpusOf, stall } from '../../proofs/stall.ts'
import type { Document } from './fuzz.ts'

test('no text of a client holds up the thread that answers all others, and no lease lapses', {
  skip: !existsSync('/proc/self/schedstat'),
}, async (t) => {
  const report = await stall({
    seed: 20_260_101,
    every: 10,
    limitMs: 60_000,
    log: (line) => t.diagnostic(line),
  })
  t.diagnostic(JSON.stringify({ ...report, held: report.held.slice(0, 5) }))
  assert.deepEqual(report.violations, [])
  assert.ok(report.entries > 30, `${report.entries} entries`)
})

/** Operations that would end the run: signing out ends its token. */
const WITHOUT = new Set(['logout'])

test('the corpus of hostile texts has each operation that takes text', () => {
  const document = JSON.parse(openapiText('')) as Document
  const id = '01900000-0000-7000-8000-000000000000'
  const stored = { assignment_id: id, insight_id: id, link: '/links/a', drafts: [id] }
  const entries = corpusOf(document, stored, 1)
  assert.ok(entries.length > 1000, String(entries.length))
  const missing = ROUTES.filter(({ method, path, operation: { name, params, query, body } }) => {
    const takes =
      body !== null || [params, query].some(({ properties }) => Object.keys(properties).length > 0)
    if (!takes || WITHOUT.has(name)) return false
    const pattern = path.replace(/\/$/, '').replaceAll(/[.*?]/g, String.raw`\$&`)
    const own = new RegExp(
      `^${pattern.replaceAll(/\{\w+\}/g, '[^/?]+').replaceAll(/\{\w+(?:\\\.){3}\}/g, '.+')}/?(?:\\?|$)`,
    )
    return !entries.some((entry) => entry.method === method && own.test(entry.target))
  })
  assert.deepEqual(
    missing.map(({ method, path }) => `${method} ${path}`),
    [],
  )
})
