/** Drafts metrics and a template from a table: looks at every column by one run of `profile`, decides, and writes. */
import type { Cell, Findings } from '@assay/model/insight'
import type { TemplateSource } from '@assay/model/template'
import { parse, stringify } from 'yaml'
import { templateVersion } from '../reading/partials.ts'
import { type Decision, type DraftColumn, rolesOf } from './roles.ts'
import { type Draft, writeDraft } from './write.ts'

export interface Drafted extends Draft {
  rows: number
  decisions: Decision[]
}

/** "dates: dmy, decimal: ','" as keys of a source; null where the text is none. */
export function readKeys(text: string): Record<string, unknown> | null {
  try {
    const keys = parse(`{ ${text} }`) as Record<string, unknown>
    return 'file' in keys ? null : keys
  } catch {
    return null
  }
}

/** The template that looks at the table. `dialect`: further keys of the source, such as `dates: dmy`. */
export function lookingAt(file: string, dialect: Record<string, unknown>): TemplateSource {
  const front = stringify({ sources: { data: { file, ...dialect } }, lineage: 'none' }, { lineWidth: 0 })
  const source = `---\n${front}---\n\n\`\`\`analysis columns\nmethod: profile\nof: data\n\`\`\`\n\n# Columns\n\n{{ columns.summary }}\n`
  return { template_id: 'draft', version: templateVersion(source, {}), source, partials: {} }
}

interface ProfiledColumn {
  name: string
  type: string
  nulls: number
  distinct: number
  min: Cell
  max: Cell
  top: { value: Cell; n: number }[]
}

/** `found`: of the run of `lookingAt`. */
export function draftFrom(found: Findings, file: string, dialect: Record<string, unknown>): Drafted {
  const profile = found.analyses.columns!
  const doubts = new Map(
    (found.lineage.sources[0]?.dialect?.columns ?? []).flatMap(({ name, doubt }) =>
      doubt?.kind === 'two_readings' ? [[name, doubt] as const] : [],
    ),
  )
  const columns = (profile.columns as ProfiledColumn[]).map((column): DraftColumn => {
    const doubt = doubts.get(column.name)
    return { ...column, question: doubt === undefined ? null : `${column.name}: ${doubt.says}` }
  })
  const rows = profile.n
  const decisions = rolesOf(columns, rows)
  return { ...writeDraft({ file, dialect, rows, columns, decisions }), rows, decisions }
}
