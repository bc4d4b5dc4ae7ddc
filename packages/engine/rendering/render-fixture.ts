/** For the tests of this folder: makes templates, tables and outcomes in one line each. */
import assert from 'node:assert/strict'
import type { Cell, Column, ColumnType, Lineage, Outcome, Table } from '@assay/model/insight'
import type { Template } from '@assay/model/template'
import { parseTemplate } from '../reading/parse.ts'
import { verdict } from '../verdicts/verdict.ts'
import { type RenderResult, renderTemplate } from './render.ts'

export function table(types: Record<string, ColumnType>, rows: Cell[][], total = rows.length): Table {
  const columns = Object.entries(types).map(([name, type]): Column => ({ name, type, database_type: type }))
  return { columns, rows, total }
}

export function outcome(fields: Record<string, unknown>): Outcome {
  const told = verdict({ headline: 'A summary.', grade: 'firm', evidence: 'n = 3 rows.' })
  return { ...told, n: 3, method: 'some method', ...fields }
}

export const RUN = { started_at: '2024-03-15T12:00:00.000Z', time_zone: 'UTC' }

export function lineageOf(template: Template): Lineage {
  return {
    template_id: template.template_id,
    template_version: template.version,
    assay_version: '0.1.0',
    engine: 'DuckDB v1.5.6',
    ...RUN,
    variables: {},
    sources: [],
    blocks: [],
    elapsed_ms: 12,
    peak_memory_bytes: 1,
    host: 'host',
  }
}

export function parsed(source: string, partials: Record<string, string> = {}): Template {
  const { template, faults } = parseTemplate({ template_id: 'test', source, partials })
  assert.deepEqual(
    faults.filter(({ severity }) => severity === 'error'),
    [],
  )
  return template!
}

export interface Inputs {
  vars?: Record<string, unknown>
  blocks?: Record<string, Table | Outcome>
  partials?: Record<string, string>
  /** Lines of the front matter. */
  settings?: string
}

/** Renders a body without the lineage section. */
export function render(body: string, given: Inputs = {}): RenderResult {
  const template = parsed(`---\nlineage: none\n${given.settings ?? ''}\n---\n${body}`, given.partials)
  return renderTemplate(template, {
    vars: given.vars ?? {},
    run: RUN,
    blocks: new Map(Object.entries(given.blocks ?? {})),
    lineage: lineageOf(template),
  })
}

/** Returns the Markdown of a body, without its last line break. */
export function markdown(body: string, given: Inputs = {}): string {
  return render(body, given).markdown.replace(/\n$/, '')
}
