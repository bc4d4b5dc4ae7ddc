/**
 * Makes the titles of jobs: of the insight, or before there is one of the template with the values of the variables.
 */
import { setImmediate } from 'node:timers/promises'
import { AppError } from '@assay/model/errors'
import type { Job } from '@assay/model/job'
import type { Services } from '../dependencies.ts'

type Known = Pick<Services, 'store' | 'templates'>
type Untitled = Pick<
  Job,
  'assignment_id' | 'template_id' | 'template_version' | 'variables' | 'started_at' | 'created_at'
>

/** The most templates that one list of jobs reads for its titles. Jobs of further templates get no title. */
const VERSIONS_MOST = 20
/** Milliseconds after which the event loop answers other requests. A title may take up to 50 ms. */
const PASS_MS = 10

async function versionOf({ store, templates }: Known, workspace_id: string, job: Untitled) {
  const source = await store.getTemplateVersion({
    template_id: job.template_id,
    version: job.template_version,
  })
  if (!source) return null
  const { found } = await templates.read(source, workspace_id).catch((error: unknown) => {
    // A list without a title is better than no list.
    if (error instanceof AppError) return { found: null }
    throw error
  })
  return found?.template ?? null
}

type Titled = Untitled & Pick<Job, 'insight_id'>

/** Returns the titles by assignment id. A job without a title has none. */
export async function jobTitles(
  known: Known,
  workspace_id: string,
  jobs: readonly Titled[],
): Promise<Map<string, string>> {
  const insight_ids = jobs.flatMap(({ insight_id }) => insight_id ?? [])
  const rows = insight_ids.length === 0 ? [] : await known.store.insightTitles({ workspace_id, insight_ids })
  const own = new Map(rows.map(({ insight_id, title }) => [insight_id, title]))
  const untitled = jobs.filter(({ insight_id }) => !own.has(insight_id ?? ''))
  const titles = await runTitles(known, workspace_id, untitled)
  for (const { insight_id, assignment_id } of jobs) {
    const title = own.get(insight_id ?? '')
    if (title !== undefined) titles.set(assignment_id, title)
  }
  return titles
}

/** Returns the titles of runs without an insight, by assignment id. */
async function runTitles(
  known: Known,
  workspace_id: string,
  jobs: readonly Untitled[],
): Promise<Map<string, string>> {
  const groups = Map.groupBy(
    jobs,
    ({ template_id, template_version }) => `${template_id}\n${template_version}`,
  )
  const titles = new Map<string, string>()
  if (groups.size === 0) return titles
  // An idle service keeps neither the language of templates nor its filters in memory.
  const { runTitle } = await import('@assay/engine/reading/titles')
  let began = performance.now()
  for (const group of [...groups.values()].slice(0, VERSIONS_MOST)) {
    const template = await versionOf(known, workspace_id, group[0]!)
    if (!template) continue
    for (const { assignment_id, variables, started_at, created_at } of group) {
      titles.set(assignment_id, runTitle(template, variables, started_at ?? created_at))
      if (performance.now() - began < PASS_MS) continue
      await setImmediate()
      began = performance.now()
    }
  }
  return titles
}
