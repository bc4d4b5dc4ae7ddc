/** Judges a commit before it is served. It checks every template and metric, and then runs every test. */
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { asMetricFaults, metricReader as readerOf } from '@assay/engine/metrics/reader'
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { TaskError } from '@assay/engine/run/pool'
import { AppError } from '@assay/model/errors'
import type { RepositoryFault, RepositoryOwned, RepositoryTree } from '@assay/model/repository'
import type { Fault, TemplateSource } from '@assay/model/template'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { nameNearest, withMetrics } from '../templates/own-metrics.ts'
import { judgeSettings, type Settings } from './judge-settings.ts'
import { runTests } from './judge-tests.ts'
import type { JudgeParts, Judging } from './judging.ts'
import { fault, metricsOf, nameFaults, type Parts, partsOf, placed, templatesOf } from './tree.ts'

/** The most faults of one commit that are stored. */
const FAULTS_MOST = 100

interface Judged {
  faults: RepositoryFault[]
  /** The accepted commit; null if the commit is refused. */
  tree: RepositoryTree | null
}

/** Turns faults of a database that cannot be reached into warnings, which do not count against the commit. */
function overConnections(faults: Fault[], connections: readonly string[]): Fault[] {
  if (connections.length === 0) return faults
  return faults.map((one) => (one.code === 'source_unavailable' ? { ...one, severity: 'warning' } : one))
}

async function checkOne(
  source: TemplateSource,
  connections: readonly string[],
  judging: Judging,
): Promise<Fault[]> {
  const { pool, where, signal } = judging
  const access = judging.connections.accessFor({
    workspace_id: DEFAULT_WORKSPACE,
    names: async () => connections,
  })
  const found = await pool.check(
    { kind: 'check', template: source, roots: where },
    { workspace_id: DEFAULT_WORKSPACE, signal, connections: access, patient: true },
  )
  return overConnections(found, connections)
}

async function metricFaults(parts: Parts, judging: Judging): Promise<RepositoryFault[]> {
  const faults: RepositoryFault[] = []
  for (const { name, file, text } of metricsOf(parts)) {
    const definition = { metric_id: name, source: text }
    const [head] = await judging.metricReader.read([definition], DEFAULT_WORKSPACE)
    const { view, lines, faults: found } = head!
    faults.push(...found.map((one) => placed(file, { ...one, partial: null })))
    if (!view) continue
    const seen = await checkOne(readerOf(definition), view.connections, judging)
    faults.push(...asMetricFaults(seen, lines).map((one) => placed(file, { ...one, partial: null })))
  }
  return faults
}

interface ReadTemplate {
  file: string
  source: TemplateSource
  template_id: string
  found: FoundTemplate
}

async function templateFaults(
  parts: Parts,
  judging: Judging,
): Promise<{ faults: RepositoryFault[]; read: ReadTemplate[] }> {
  const faults: RepositoryFault[] = []
  const read: ReadTemplate[] = []
  const metrics = metricsOf(parts).map(({ name }) => name)
  for (const { file, source: own } of templatesOf(parts)) {
    const source = await withMetrics(judging, DEFAULT_WORKSPACE, own)
    const { found, faults: parsed } = await judging.templates.read(source, DEFAULT_WORKSPACE)
    const seen = found ? await checkOne(source, found.view.connections, judging) : parsed
    const told = await nameNearest(judging, DEFAULT_WORKSPACE, seen, metrics)
    faults.push(...told.map((one) => placed(file, one)))
    if (!found) continue
    const { template_id } = found.template
    const before = read.find((one) => one.template_id === template_id)
    if (before)
      faults.push(fault(file, `${before.file} has the id ${template_id}, too: give one of them another.`))
    else read.push({ file, source, template_id, found })
  }
  return { faults, read }
}

const isError = ({ severity }: RepositoryFault): boolean => severity === 'error'

/** Returns the faults to store. Errors come first, because the list may be cut. */
function kept(faults: RepositoryFault[]): RepositoryFault[] {
  return faults.toSorted((a, b) => Number(isError(b)) - Number(isError(a))).slice(0, FAULTS_MOST)
}

function treeOf(
  parts: Parts,
  read: ReadTemplate[],
  { schedules, connections }: Settings,
  { commit_id, known }: Candidate,
): RepositoryTree {
  const own = new Map(templatesOf(parts).map(({ file, source }) => [file, source.version]))
  const versions = read.map(({ file, template_id }): [string, RepositoryTree['versions'][string]] => {
    const version = own.get(file)!
    const before = known?.versions[template_id]
    return [template_id, before?.version === version ? before : { version, commit_id }]
  })
  const { templates, partials, metrics } = parts
  return {
    files: { ...templates, ...partials, ...metrics },
    versions: Object.fromEntries(versions),
    schedules,
    connections,
  }
}

/**
 * Tells whether the commit is at fault. A file that takes too long to read, or that ends the process reading it, is a
 * fault of the commit.
 */
function isOfCommit(error: unknown): error is Error {
  return error instanceof TaskError || (error instanceof AppError && error.code === 'preview_failed')
}

interface Candidate {
  commit_id: string
  /** The files by path. Null if the commit has no such folder. */
  files: ReadonlyMap<string, Uint8Array> | null
  /** The last accepted commit. */
  known: RepositoryTree | null
  owned: RepositoryOwned
}

/** Judges the commit. Rejects if the pool is not available. */
export async function judge(candidate: Candidate, given: JudgeParts, signal: AbortSignal): Promise<Judged> {
  const { files, owned } = candidate
  if (files === null)
    return {
      faults: [fault('', 'The commit has no such folder: correct ASSAY_TEMPLATES_FOLDER.')],
      tree: null,
    }
  const { parts, faults } = partsOf(files)
  faults.push(...nameFaults(parts))
  if (Object.keys(parts.templates).length + Object.keys(parts.metrics).length === 0)
    faults.push(fault('', 'The folder has neither a template (NAME.md) nor a metric (metrics/NAME.yaml).'))
  if (faults.length > 0) return { faults: kept(faults), tree: null }
  const folder = await mkdtemp(path.join(given.tempRoot, 'tests-'))
  try {
    const judging: Judging = { ...given, owned, where: await given.roots(), signal }
    faults.push(...(await metricFaults(parts, judging)))
    const { faults: found, read } = await templateFaults(parts, judging)
    faults.push(...found)
    const commit = new Map(read.map((one) => [one.template_id, one.found]))
    const { faults: ofSettings, ...settings } = await judgeSettings(parts, commit, judging)
    faults.push(...ofSettings)
    if (!faults.some(isError)) faults.push(...(await runTests({ files, parts, read, folder, judging })))
    const tree = faults.some(isError) ? null : treeOf(parts, read, settings, candidate)
    return { faults: kept(faults), tree }
  } catch (error) {
    if (!isOfCommit(error) || signal.aborted) throw error
    return {
      faults: [...kept(faults), fault('', `The commit could not be checked: ${error.message}`)],
      tree: null,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
