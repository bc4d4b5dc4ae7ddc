/**
 * Reads templates that clients wrote, and converts values by their variables, without delaying other requests. Short
 * work is done at once. Work that may take long is done by an analysis process of the workspace. Readings are cached by
 * version.
 */
import { errorsOf, type FoundTemplate, type ReadHead, readHead } from '@assay/engine/reading/lookup'
import type { Pool } from '@assay/engine/run/pool'
import { isQuick, PatternWork } from '@assay/engine/values/pattern'
import { type ConvertedVariables, convertVariables } from '@assay/engine/values/variables'
import type { TemplateSource } from '@assay/model/template'
import { LRUCache } from 'lru-cache'
import { createReadings, unreadable } from './readings.ts'

/** The most characters of a source that is read at once. Without patterns it takes about 5 ms. */
const SHORT = 16_000
/** The most characters of the sources of one task, together. */
const TASK_MOST = 2_000_000
/** The most cached readings, in characters of their sources. A reading is at most a few times larger. */
const KEPT_MOST = 20_000_000
/** The most templates that one list reads at the same time. */
const AT_ONCE = 20

export interface TemplateReader {
  /**
   * Reads a source. Rejects with `preview_failed` if it takes too long, and with `workspace_busy` if too many wait.
   */
  read(source: TemplateSource, workspace_id: string): Promise<ReadHead>
  /** Reads sources, in their order; null for a template with errors. */
  readAll(sources: TemplateSource[], workspace_id: string): Promise<(FoundTemplate | null)[]>
  /** Converts one set of values for each item. All items share one bound on the work of their patterns. */
  convert(
    template: Pick<FoundTemplate, 'template'>,
    items: Record<string, unknown>[],
    workspace_id: string,
  ): Promise<ConvertedVariables[]>
}

function lengthOf({ source, partials }: TemplateSource): number {
  return Object.values(partials).reduce((length, text) => length + text.length, source.length)
}

function isShort({ source, partials }: TemplateSource): boolean {
  if (source.length > SHORT || Object.keys(partials).length > 0) return false
  // A source with a backslash may write the key `pattern` by escapes.
  return !/pattern|\\/.test(source)
}

/**
 * Makes the reader. `patient`: for jobs that were accepted and for work of the service itself, which no budget of the
 * workspace stops.
 */
export function createTemplateReader(
  pool: Pick<Pool, 'read' | 'convert'>,
  { patient = false } = {},
): TemplateReader {
  const read = createReadings<TemplateSource, ReadHead>({
    kept: new LRUCache<string, ReadHead>({ maxSize: KEPT_MOST }),
    keyOf: ({ template_id, version }) => `${template_id}\n${version}`,
    lengthOf,
    atOnce() {
      let n = 0
      return (source) => isShort(source) && ++n <= AT_ONCE
    },
    readHere: readHead,
    async readThere(templates, workspace_id) {
      const heads = await pool
        .read({ kind: 'read', templates }, { workspace_id, patient })
        .catch(unreadable('template'))
      return heads.map(({ found, faults }, index) => ({
        found: found && { ...found, source: templates[index]! },
        faults,
      }))
    },
    most: TASK_MOST,
  })

  return {
    read: async (source, workspace_id) => (await read([source], workspace_id))[0]!,

    async readAll(sources, workspace_id) {
      return (await read(sources, workspace_id)).map(({ found, faults }) => {
        // A template whose metric was deleted is still returned, so that it can be mended.
        return errorsOf(faults).every(({ code }) => code === 'unknown_metric') ? found : null
      })
    },

    async convert({ template: { variables } }, items, workspace_id) {
      const work = new PatternWork(true)
      if (variables.every(({ pattern }) => pattern === null || isQuick(pattern))) {
        const converted = items.map((given) => convertVariables(variables, given, work))
        if (!work.spent) return converted
      }
      return pool
        .convert({ kind: 'convert', variables, items }, { workspace_id, patient })
        .catch(unreadable('template'))
    },
  }
}
