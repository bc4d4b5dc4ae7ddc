/**
 * Runs the pool for gallery.test.ts in a process of its own, with another time zone and language. Each template runs
 * with its defaults at another clock. The process sends the faults of each template and the result of each run.
 */

import type { Findings } from '@assay/model/insight'
import type { Fault } from '@assay/model/template'
import {
  gallery,
  galleryTasks,
  readable,
  roots,
  runGallery,
  sparseTasks,
  tasksAt,
  withPool,
} from './gallery.ts'

export interface Ran {
  faults: Record<string, Fault[]>
  /** The results by the names of the golden ones. */
  runs: Record<string, { markdown: string; findings: Findings }>
  /** The Markdown of runs with little or no data. */
  sparse: Record<string, string>
}

const told = await withPool(async (pool): Promise<Ran> => {
  const workspace_id = 'gallery'
  const faults = gallery().map(async ({ source }) => [
    source.template_id,
    await pool.check({ kind: 'check', template: source, roots }, { workspace_id, patient: true }),
  ])
  const runs = await runGallery(pool, { ...galleryTasks(), ...tasksAt(1) })
  const sparse = await runGallery(pool, sparseTasks())
  const each = <Made>(made: Record<string, Findings>, of: (findings: Findings) => Made) =>
    Object.fromEntries(Object.entries(made).map(([name, findings]) => [name, of(findings)]))
  return {
    faults: Object.fromEntries(await Promise.all(faults)) as Ran['faults'],
    runs: each(runs, (findings) => ({ markdown: readable(findings), findings })),
    sparse: each(sparse, readable),
  }
})
process.send!(told)
