/**
 * Reads templates that clients wrote, and converts values by their variables, without delaying other requests. Short
 * work is done at once. Work that may take long is done by an analysis process of the workspace. Readings are cached by
 * version.
 */
import { errorsOf, type FoundTemplate, type ReadHead, readHead } from '@assay/engine/reading/lookup'
import { type Pool, TaskError } from '@assay/engine/run/pool'
import { isQuick, PatternWork } from '@assay/engine/values/pattern'
import { type ConvertedVariables, convertVariables } from '@assay/engine/values/variables'
import { AppError } from '@assay/model/errors'
import type { TemplateSource } from '@assay/model/template'
import { LRUCache } from 'lru-cache'

/** A shorter source without patterns is read in about 5 ms. */
const SHORT = 16_000
/** Sources of one task, in characters together. */
const TASK_MOST = 2_000_000
/** The most cached readings, in characters of their sources. A reading is at most a few times larger. */
const KEPT_MOST = 20_000_000
/** Templates that one list reads at once. */
const AT_ONCE = 20

export interface TemplateReader {
  /** Rejects with `preview_failed` where it takes too long, with `workspace_busy` where too many wait. */
  read(source: TemplateSource, workspace_id: string): Promise<ReadHead>
  /** In the same order; null for a template with errors. */
  readAll(sources: TemplateSource[], workspace_id: string): Promise<(FoundTemplate | null)[]>
  /** One set of values for each item. All share one bound on the work of their patterns. */
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
  // A key may be written by escapes.
  return !/pattern|\\/.test(source)
}

/** A template that takes too long to read, or that ends the process that reads it, is its author's to mend. */
function unreadable(error: unknown): never {
  if (!(error instanceof TaskError)) throw error
  throw new AppError('preview_failed', `The template could not be read: ${error.message}`, { cause: error })
}

/** `patient`: for jobs that were accepted and work of the service itself, whatever the workspace has taken. */
export function createTemplateReader(
  pool: Pick<Pool, 'read' | 'convert'>,
  { patient = false } = {},
): TemplateReader {
  const kept = new LRUCache<string, ReadHead>({ maxSize: KEPT_MOST })
  const keyOf = ({ template_id, version }: TemplateSource): string => `${template_id}\n${version}`
  const keep = (source: TemplateSource, head: ReadHead): ReadHead => {
    kept.set(keyOf(source), head, { size: lengthOf(source) + 1 })
    return head
  }

  async function readInPool(templates: TemplateSource[], workspace_id: string): Promise<ReadHead[]> {
    const heads = await pool.read({ kind: 'read', templates }, { workspace_id, patient }).catch(unreadable)
    return heads.map(({ found, faults }, index) => {
      const source = templates[index]!
      return keep(source, { found: found && { ...found, source }, faults })
    })
  }

  async function read(source: TemplateSource, workspace_id: string): Promise<ReadHead> {
    const known = kept.get(keyOf(source))
    if (known) return known
    if (isShort(source)) return keep(source, readHead(source))
    return (await readInPool([source], workspace_id))[0]!
  }

  return {
    read,

    async readAll(sources, workspace_id) {
      let atOnce = 0
      let group: TemplateSource[] = []
      let length = 0
      const heads = new Map<TemplateSource, ReadHead>()
      const send = async (): Promise<void> => {
        const read = group.length === 0 ? [] : await readInPool(group, workspace_id)
        for (const [index, head] of read.entries()) heads.set(group[index]!, head)
        group = []
        length = 0
      }
      for (const source of sources) {
        const known = kept.get(keyOf(source))
        if (known) heads.set(source, known)
        else if (isShort(source) && ++atOnce <= AT_ONCE) heads.set(source, keep(source, readHead(source)))
        else {
          if (length + lengthOf(source) > TASK_MOST) await send()
          group.push(source)
          length += lengthOf(source)
        }
      }
      await send()
      return sources.map((source) => {
        const { found, faults } = heads.get(source)!
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
      return pool.convert({ kind: 'convert', variables, items }, { workspace_id, patient }).catch(unreadable)
    },
  }
}
