/** Makes the titles of runs without an insight, from their template and the values of their variables. */
import { setImmediate } from 'node:timers/promises'
import { runTitle } from '@assay/engine/reading/titles'
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

/** Returns the titles by assignment id. */
export async function runTitles(
  known: Known,
  workspace_id: string,
  jobs: readonly Untitled[],
): Promise<Map<string, string>> {
  const groups = Map.groupBy(
    jobs,
    ({ template_id, template_version }) => `${template_id}\n${template_version}`,
  )
  const titles = new Map<string, string>()
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
