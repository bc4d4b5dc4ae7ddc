/**
 * The templates in folders: every `*.md` but README.md, with `partials/*.md` beside them, and the metrics
 * `metrics/*.yaml`. Changed files are read again. A known template costs a check of its own files, and the list a check
 * of the folders, each at most once a second. A file with faults is not listed and cannot be run; `broken` holds it
 * with its faults.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { MetricView } from '@assay/model/metric'
import type { Fault, Origin, Template } from '@assay/model/template'
import { makeFault } from '../language/fault.ts'
import { metricView, readMetric } from '../metrics/definition.ts'
import { metricPartial } from '../metrics/names.ts'
import type { FoundTemplate } from './lookup.ts'
import { parseTemplate } from './parse.ts'
import { reachablePartials } from './partials.ts'
import { templateSource, templateView } from './template-cache.ts'

export interface CatalogEntry extends FoundTemplate {
  file: string
}

export interface ParsedEntry extends CatalogEntry {
  template: Template
}

export interface BrokenTemplate {
  template_id: string
  file: string
  faults: Fault[]
}

export interface CatalogMetric {
  origin: Origin
  file: string
  source: string
  view: MetricView
}

export interface Catalog<Entry extends CatalogEntry = CatalogEntry> {
  /** Returns all entries, by id. */
  list(): Entry[]
  get(template_id: string): Entry | null
  /** Returns the metrics of all folders by name. */
  metrics(): CatalogMetric[]
  /** Returns the files that cannot be used, by file. */
  broken(): BrokenTemplate[]
}

export interface CatalogOptions {
  shipped: string
  /** The folders. If two templates have one id, the earlier folder wins. Folders come before shipped templates. */
  folders: string[]
  /** Called once for each version of a file that cannot be used. */
  onBroken?: (broken: BrokenTemplate) => void
  /** Returns monotonic milliseconds. */
  now?: () => number
}

const LOOK_AGAIN_MS = 1000
const MAX_BYTES = 4_000_000

interface Loaded {
  /** The stamps of the file and its partials. */
  stamp: string
  checkedAt: number
  entry: ParsedEntry | null
  broken: BrokenTemplate | null
  dependencies: string[]
}

export function createCatalog(options: CatalogOptions): Catalog<ParsedEntry> {
  const now = options.now ?? (() => performance.now())
  const folders = [
    ...options.folders.map((folder) => ({ folder, origin: 'folder' as const })),
    { folder: options.shipped, origin: 'shipped' as const },
  ]
  let files = new Map<string, Loaded>()
  let byId = new Map<string, Loaded>()
  let metrics = new Map<string, CatalogMetric>()
  let brokenMetrics = new Map<string, BrokenTemplate>()
  let scannedAt = Number.NEGATIVE_INFINITY

  const scan = (): void => {
    if (now() - scannedAt < LOOK_AGAIN_MS) return
    const seen = new Map<string, Loaded>()
    const ids = new Map<string, Loaded>()
    const found = metricsOf(folders)
    for (const broken of found.broken.values()) {
      const before = brokenMetrics.get(broken.file)
      if (JSON.stringify(before) !== JSON.stringify(broken)) options.onBroken?.(broken)
    }
    metrics = found.metrics
    brokenMetrics = found.broken
    for (const { folder, origin } of folders) {
      const partials = new Map([...readFolder(path.join(folder, 'partials')), ...asPartials(metrics)])
      for (const file of templateFiles(folder)) {
        const loaded = load(files.get(file), file, origin, partials)
        if (loaded.broken && loaded !== files.get(file)) options.onBroken?.(loaded.broken)
        seen.set(file, { ...loaded, checkedAt: now() })
        const id = loaded.entry?.template.template_id
        if (id !== undefined && !ids.has(id)) ids.set(id, seen.get(file)!)
      }
    }
    files = seen
    byId = ids
    scannedAt = now()
  }

  return {
    list() {
      scan()
      const entries = [...byId.values()].map((loaded) => loaded.entry!)
      return entries.toSorted((a, b) => (a.template.template_id < b.template.template_id ? -1 : 1))
    },
    get(template_id) {
      const loaded = byId.get(template_id)
      if (loaded?.entry) {
        if (now() - loaded.checkedAt < LOOK_AGAIN_MS) return loaded.entry
        loaded.checkedAt = now()
        if (stampOf(loaded.dependencies) === loaded.stamp) return loaded.entry
        scannedAt = Number.NEGATIVE_INFINITY
      }
      scan()
      return byId.get(template_id)?.entry ?? null
    },
    metrics() {
      scan()
      return [...metrics.values()].toSorted((a, b) => (a.view.metric_id < b.view.metric_id ? -1 : 1))
    },
    broken() {
      scan()
      const templates = [...files.values()].flatMap((loaded) => (loaded.broken ? [loaded.broken] : []))
      return [...templates, ...brokenMetrics.values()]
    },
  }
}

function templateFiles(folder: string): string[] {
  return markdownFiles(folder).filter((file) => path.basename(file).toLowerCase() !== 'readme.md')
}

/** Returns the metrics of the folders, and the files that hold none. An earlier folder wins. */
function metricsOf(folders: readonly { folder: string; origin: Origin }[]): {
  metrics: Map<string, CatalogMetric>
  broken: Map<string, BrokenTemplate>
} {
  const metrics = new Map<string, CatalogMetric>()
  const broken = new Map<string, BrokenTemplate>()
  for (const { folder, origin } of folders) {
    for (const file of filesIn(path.join(folder, 'metrics'), '.yaml')) {
      const name = path.basename(file, '.yaml')
      const read = readText(file)
      const { metric, faults } =
        'text' in read
          ? readMetric(name, read.text)
          : {
              metric: null,
              faults: [makeFault('unreadable', { line: 1, column: 1 }, read.reason, 'Save it as UTF-8.')],
            }
      if (!metric || !('text' in read)) broken.set(file, { template_id: name, file, faults })
      else if (!metrics.has(name))
        metrics.set(name, { origin, file, source: read.text, view: metricView(metric, origin) })
    }
  }
  return { metrics, broken }
}

function asPartials(metrics: ReadonlyMap<string, CatalogMetric>): Partials {
  return new Map(
    [...metrics].map(([name, { file, source }]) => [metricPartial(name), { file, text: source }]),
  )
}

const markdownFiles = (folder: string): string[] => filesIn(folder, '.md')

/** Returns the files of a folder. A missing folder counts as empty, because it may appear later. */
function filesIn(folder: string, ending: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(ending) && !name.startsWith('.'))
    return names.toSorted().map((name) => path.join(folder, name))
  } catch {
    return []
  }
}

function readFolder(folder: string): Map<string, { file: string; text: string }> {
  const found = new Map<string, { file: string; text: string }>()
  for (const file of markdownFiles(folder)) {
    const text = readText(file)
    if ('text' in text) found.set(path.basename(file, '.md'), { file, text: text.text })
  }
  return found
}

function readText(file: string): { text: string } | { reason: string } {
  try {
    const size = statSync(file).size
    if (size > MAX_BYTES) return { reason: `The file has ${size} bytes; at most ${MAX_BYTES} are read.` }
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)) }
  } catch (error) {
    return { reason: `The file cannot be read: ${(error as Error).message}.` }
  }
}

/** Returns a text that changes whenever one of the files does. A missing file has a stamp too. */
function stampOf(files: string[]): string {
  const one = (file: string): string => {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : 'none'
  }
  return files.map(one).join(' ')
}

type Partials = Map<string, { file: string; text: string }>

function load(known: Loaded | undefined, file: string, origin: Origin, partials: Partials): Loaded {
  if (known && stampOf(known.dependencies) === known.stamp && known.broken === null) return known
  const template_id = path.basename(file, '.md')
  const read = readText(file)
  const texts = Object.fromEntries([...partials].map(([name, partial]) => [name, partial.text]))
  const used = 'text' in read ? Object.keys(reachablePartials(read.text, texts)) : []
  const dependencies = [file, ...used.map((name) => partials.get(name)!.file)]
  const stamp = stampOf(dependencies)
  const loaded = { stamp, checkedAt: 0, dependencies }
  if ('reason' in read) {
    const faults = [makeFault('unreadable', { line: 1, column: 1 }, read.reason, 'Save it as UTF-8.')]
    return unchanged(known, { ...loaded, entry: null, broken: { template_id, file, faults } })
  }
  const { template, faults } = parseTemplate({ template_id, source: read.text, partials: texts })
  // The metric may belong to a workspace, so it is looked for when the template runs.
  const isFault = ({ severity, code }: Fault): boolean => severity === 'error' && code !== 'unknown_metric'
  if (template === null || faults.some(isFault)) {
    return unchanged(known, { ...loaded, entry: null, broken: { template_id, file, faults } })
  }
  const source = templateSource(template)
  const entry = { origin, file, template, source, view: templateView(template, origin) }
  return { ...loaded, entry, broken: null }
}

/**
 * Tells whether a file is unchanged. A broken file may lack a partial that is added later, so each look parses it. It
 * is reported when its faults change.
 */
function unchanged(known: Loaded | undefined, now: Loaded): Loaded {
  const same = known?.broken && JSON.stringify(known.broken) === JSON.stringify(now.broken)
  return same ? known : now
}
