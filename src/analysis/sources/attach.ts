/** Attaches the sources of a template, each by its kind. A new kind is one file and one line here. */

import type { Source, Template } from '../../template.ts'
import { renderText } from '../../templates/render.ts'
import type { Engine } from '../duckdb.ts'
import type { Roots } from '../protocol.ts'
import { attachFile } from './file.ts'
import { type Attached, SourceError } from './source.ts'

export interface AttachOptions {
  roots: Roots
  /** For Liquid in `file`. */
  vars: Record<string, unknown>
  /** How many blocks read each source. */
  readers: ReadonlyMap<string, number>
  peek: boolean
}

export async function attachSource(
  engine: Engine,
  source: Source,
  options: AttachOptions,
): Promise<Attached> {
  const { roots, vars, readers, peek } = options
  const { name, line, columns } = source
  const file = renderText(source.file, vars, { line, column: source.column })
  return attachFile(engine, { name, line, file, columns, roots, readers: readers.get(name) ?? 0, peek })
}

/** By name, in the order of the template. */
export async function attachSources(
  engine: Engine,
  template: Template,
  options: AttachOptions,
  onEach: (name: string) => void,
): Promise<Map<string, Attached>> {
  const attached = new Map<string, Attached>()
  for (const source of template.sources) {
    onEach(source.name)
    try {
      attached.set(source.name, await attachSource(engine, source, options))
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      throw new SourceError(`Source "${source.name}", line ${source.line}: ${error.message}`)
    }
  }
  return attached
}
