/**
 * The shipped templates run as they stand, and in a few forms that their variables allow, by one clock. The Markdown
 * that comes out, charts as mermaid, is kept in test/golden: `npm run gen` writes it, gallery.test.ts compares.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createPool, type Pool } from '../src/analysis/pool.ts'
import type { Roots, RunTask } from '../src/analysis/protocol.ts'
import type { Findings } from '../src/insight.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { silentLog } from '../src/runtime/log.ts'
import { DEFAULT_LIMITS } from '../src/template.ts'
import { type CatalogEntry, createCatalog } from '../src/templates/catalog.ts'
import { fillCharts } from '../src/templates/charts.ts'
import { sampleFiles, templatesFolder } from '../src/templates/samples.ts'
import { convertVariables } from '../src/templates/variables.ts'

export const STARTED_AT = '2024-06-01T12:00:00.000Z'
export const goldenFolder = path.join(import.meta.dirname, 'golden')
export const roots: Roots = { sample: sampleFiles(), data: null }

/** Beside each template with its defaults: what else is kept. */
const FORMS: Record<string, { template_id: string; variables: Record<string, unknown> }> = {
  'ab-test.salk': {
    template_id: 'ab-test',
    variables: { experiment: 'salk_1954', outcome: 'paralytic polio', unit: '100000' },
  },
  'ab-test.two-arms': { template_id: 'ab-test', variables: { arms: ['civic duty'], confidence: 0.99 } },
  'admissions-gap.two-departments': { template_id: 'admissions-gap', variables: { departments: ['A', 'F'] } },
  'bird-strikes.New-York': { template_id: 'bird-strikes', variables: { state: 'New York' } },
  'data-profile.penguins': {
    template_id: 'data-profile',
    variables: { file: 'sample/penguins.json', column: 'Island' },
  },
  'earthquakes.Alaska': {
    template_id: 'earthquakes',
    variables: { places: ['Alaska'], after: '2018-02-04T00:00:00Z', magnitude: 2 },
  },
  'flight-delays.ORD': {
    template_id: 'flight-delays',
    variables: { period: 'last_30_days', origin: 'ORD', destination: 'SFO' },
  },
  'monthly-forecast.backtest': {
    template_id: 'monthly-forecast',
    variables: { until: '2002-12-31', details: 'false' },
  },
  'weather-anomalies.none': {
    template_id: 'weather-anomalies',
    variables: { period: '2015-12-01..2015-12-31' },
  },
}

export function gallery(): CatalogEntry[] {
  const catalog = createCatalog({ shipped: templatesFolder, folders: [] })
  const entries = catalog.list()
  const broken = catalog.broken()
  if (broken.length > 0) throw new Error(JSON.stringify(broken, null, 2))
  return entries
}

/** Each run of the gallery by its name: the template's id, and after a dot the form. */
export function galleryTasks(): Record<string, Omit<RunTask, 'caps'>> {
  const entries = new Map(gallery().map((entry) => [entry.template.template_id, entry]))
  const forms = {
    ...Object.fromEntries([...entries.keys()].map((id) => [id, { template_id: id, variables: {} }])),
    ...FORMS,
  }
  return Object.fromEntries(
    Object.entries(forms).map(([name, { template_id, variables }]) => {
      const { template, source } = entries.get(template_id)!
      const { values, errors } = convertVariables(template.variables, variables)
      if (errors.length > 0) throw new Error(`${name}: ${JSON.stringify(errors)}`)
      return [name, { kind: 'run', template: source, variables: values, started_at: STARTED_AT, roots }]
    }),
  )
}

export async function withPool<Result>(use: (pool: Pool) => Promise<Result>): Promise<Result> {
  const tempRoot = mkdtempSync(path.join(tmpdir(), 'assay-gallery-'))
  const caps = { ...DEFAULT_LIMITS, timeout_ms: 300_000, memory_bytes: 4_000_000_000 }
  const pool = createPool({ size: 2, clock: systemClock, log: silentLog, caps, tempRoot })
  try {
    return await use(pool)
  } finally {
    await pool.stop()
    rmSync(tempRoot, { recursive: true, force: true })
  }
}

export async function runGallery(pool: Pool): Promise<Record<string, Findings>> {
  const runs = Object.entries(galleryTasks()).map(async ([name, task]) => {
    const result = await pool.run(task, { workspace_id: 'gallery' })
    if (result.status !== 'done') throw new Error(`${name}: ${JSON.stringify(result)}`)
    return [name, result.findings] as const
  })
  return Object.fromEntries(await Promise.all(runs))
}

/** What a reader of the Markdown sees. */
export function readable(findings: Findings): string {
  return fillCharts(findings.markdown, findings.charts, findings.chart_form)
}

/** Writes test/golden/NAME.md for each run, and removes what has none. */
export async function writeGolden(): Promise<void> {
  const found = await withPool(runGallery)
  for (const name of readdirSync(goldenFolder)) {
    if (!Object.hasOwn(found, path.basename(name, '.md'))) rmSync(path.join(goldenFolder, name))
  }
  for (const [name, findings] of Object.entries(found)) {
    writeFileSync(path.join(goldenFolder, `${name}.md`), readable(findings))
  }
}
