/**
 * Runs the shipped templates as they are, and in a few forms that their variables allow, at one clock. test/golden
 * keeps the Markdown, with charts as mermaid: `npm run gen` writes it, gallery.test.ts compares.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fillCharts } from '@assay/engine/charts/charts'
import { createCatalog, type ParsedEntry } from '@assay/engine/reading/catalog'
import { sampleFiles, templatesFolder } from '@assay/engine/reading/samples'
import { createPool, type Pool } from '@assay/engine/run/pool'
import type { Roots, RunTask } from '@assay/engine/run/protocol'
import { convertVariables } from '@assay/engine/values/variables'
import { systemClock } from '@assay/model/clock'
import type { Findings } from '@assay/model/insight'
import { DEFAULT_LIMITS } from '@assay/model/template'
import { silentLog } from '@assay/service/runtime/log'

export const STARTED_AT = '2024-06-01T12:00:00.000Z'
export const goldenFolder = path.join(import.meta.dirname, '../golden')
export const roots: Roots = { sample: sampleFiles(), data: null }

/** Further forms of a template, kept beside the form with its defaults. */
const FORMS: Record<string, { template_id: string; variables: Record<string, unknown> }> = {
  'ab-test.aspirin': {
    template_id: 'ab-test',
    variables: { experiment: 'aspirin_1989', outcome: 'stroke', unit: '1000', confidence: 0.99 },
  },
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

/** Variables that leave a template with little or no data. Its text must say so. */
const SPARSE: [template_id: string, variables: Record<string, unknown>][] = [
  ['ab-test', { outcome: 'nothing' }],
  ['ab-test', { experiment: 'aspirin_1989' }],
  ['admissions-gap', { departments: ['Z'] }],
  ['bird-strikes', { state: 'Nowhere' }],
  ['births-calendar', { period: '1990' }],
  ['births-calendar', { period: '2003-12-25' }],
  ['births-calendar', { period: '2003-12-20..2004-01-31' }],
  ['co2-trend', { since: 2015, months: 3 }],
  ['cohort-retention', { from: 2010, to: 2000 }],
  ['cohort-retention', { from: 2015, to: 2015 }],
  ['cohort-retention', { party: 'Pirates' }],
  ['concentration', { period: '1990' }],
  ['data-profile', { file: 'sample/earthquakes.json' }],
  ['disasters', { from: 2000, to: 1990 }],
  ['disasters', { from: 2017, to: 2017 }],
  ['earthquakes', { magnitude: 9 }],
  ['earthquakes', { magnitude: 6 }],
  ['employment-by-industry', { before: '2030-01-01' }],
  ['employment-by-industry', { before: '2010-02-01', after: '2008-01-01' }],
  ['employment-by-industry', { before: '2010-01-01', after: '2010-01-01' }],
  ['flight-delays', { origin: 'ZZZ' }],
  ['flight-delays', { period: '2001-06-15' }],
  ['flight-delays', { period: '2001-01-01..2001-01-02', origin: 'ORD' }],
  ['flight-drivers', { origin: 'ZZZ' }],
  ['flight-drivers', { period: '2001-01' }],
  ['funnel', { since: 2015 }],
  ['monthly-forecast', { until: '1997-12-31' }],
  ['monthly-forecast', { until: '1998-06-30' }],
  ['nile-flow', { from: 1950, to: 1900 }],
  ['nile-flow', { from: 1900, to: 1900 }],
  ['weather-anomalies', { period: '1990' }],
]

export function gallery(): ParsedEntry[] {
  const catalog = createCatalog({ shipped: templatesFolder, folders: [] })
  const entries = catalog.list()
  const broken = catalog.broken()
  if (broken.length > 0) throw new Error(JSON.stringify(broken, null, 2))
  return entries
}

type GalleryTask = Omit<RunTask, 'caps'>

/** Returns each run of the gallery by its name: the template's id, and the form after a dot. */
export function galleryTasks(): Record<string, GalleryTask> {
  const entries = gallery()
  const plain = entries.map(({ template }) => [
    template.template_id,
    taskOf(entries, template.template_id, {}),
  ])
  const forms = Object.entries(FORMS).map(([name, { template_id, variables }]) => [
    name,
    taskOf(entries, template_id, variables),
  ])
  return Object.fromEntries([...plain, ...forms]) as Record<string, GalleryTask>
}

export function sparseTasks(): Record<string, GalleryTask> {
  const entries = gallery()
  return Object.fromEntries(
    SPARSE.map(([id, variables]) => [`${id} ${JSON.stringify(variables)}`, taskOf(entries, id, variables)]),
  )
}

function taskOf(entries: ParsedEntry[], id: string, given: Record<string, unknown>): GalleryTask {
  const entry = entries.find(({ template }) => template.template_id === id)
  if (!entry) throw new Error(`There is no template ${id}.`)
  const { values, errors } = convertVariables(entry.template.variables, given)
  if (errors.length > 0) throw new Error(`${id}: ${JSON.stringify(errors)}`)
  return { kind: 'run', template: entry.source, variables: values, started_at: STARTED_AT, roots }
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

export async function runGallery(
  pool: Pool,
  tasks: Record<string, GalleryTask> = galleryTasks(),
): Promise<Record<string, Findings>> {
  const runs = Object.entries(tasks).map(async ([name, task]) => {
    const result = await pool.run(task, { workspace_id: 'gallery' })
    if (result.status !== 'done') throw new Error(`${name}: ${JSON.stringify(result)}`)
    return [name, result.findings] as const
  })
  return Object.fromEntries(await Promise.all(runs))
}

/** Returns the Markdown as a reader sees it. */
export function readable(findings: Findings): string {
  return fillCharts(findings.markdown, findings.charts, findings.chart_form)
}

const CLOCK_STEP_MS = 1_234_567_891

/**
 * Returns the tasks of templates with their defaults at the nth clock after the golden one. The clocks are about two
 * weeks apart.
 */
export function tasksAt(clock: number): Record<string, GalleryTask> {
  const started_at = new Date(Date.parse(STARTED_AT) + clock * CLOCK_STEP_MS).toISOString()
  const plain = Object.entries(galleryTasks()).filter(([name]) => !name.includes('.'))
  return Object.fromEntries(plain.map(([name, task]) => [name, { ...task, started_at }]))
}

/**
 * Runs each template with its defaults at `clocks` clocks. Returns the names of the runs whose bytes differ from the
 * golden ones.
 */
export async function clockDifferences(pool: Pool, clocks: number): Promise<string[]> {
  const differ: string[] = []
  for (let clock = 1; clock <= clocks; clock++) {
    for (const [name, findings] of Object.entries(await runGallery(pool, tasksAt(clock)))) {
      const golden = readFileSync(path.join(goldenFolder, `${name}.md`), 'utf8')
      if (readable(findings) !== golden) differ.push(`${name} at clock ${clock}`)
    }
  }
  return differ
}

/** Writes test/golden/NAME.md for each run, and removes the files without one. */
export async function writeGolden(): Promise<void> {
  const found = await withPool((pool) => runGallery(pool))
  for (const name of readdirSync(goldenFolder)) {
    if (!Object.hasOwn(found, path.basename(name, '.md'))) rmSync(path.join(goldenFolder, name))
  }
  for (const [name, findings] of Object.entries(found)) {
    writeFileSync(path.join(goldenFolder, `${name}.md`), readable(findings))
  }
}
