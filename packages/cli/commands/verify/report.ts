/** The result of assay verify, for programs and as text. */
import type { Lineage } from '@assay/model/insight'
import type { Origin } from '@assay/model/provenance'
import type { TemplateSource } from '@assay/model/template'
import { table } from '../../print.ts'
import { type Comparison, uncomputed } from './compare.ts'
import type { InsightRecord, SourceRecord } from './insight-file.ts'

/**
 * `unknown`: a query over a connection has no fingerprint. `unread`: the template as it is now reads no such source.
 */
type SourceState = 'same' | 'changed' | 'unknown' | 'unread'

interface SourceReport {
  name: string
  state: SourceState
  files: { path: string; was: string | null; is: string | null }[]
}

export interface Report {
  /** True if every value holds and the words between them are the same. */
  holds: boolean
  template_id: string
  /** The version in the insight, and that of the template that was run. */
  template_version: { was: string; is: string }
  assay_version: { was: string; is: string | null }
  started_at: string
  values: { total: number; hold: number; changed: number; unchecked: number; added: number }
  changed: Comparison['changed']
  added: Comparison['added']
  unchecked: Comparison['unchecked']
  words: Comparison['words']
  charts: string[]
  /** The sources; null if the insight could not be computed. */
  sources: SourceReport[] | null
  /** The error if the insight could not be computed; else null. */
  failed: { code: string; detail: string } | null
  /** Notes on what the comparison cannot know. */
  notes: string[]
}

type Outcome = { failed: { code: string; detail: string } } | { comparison: Comparison; lineage: Lineage }

function filesOf(was: SourceRecord, is: SourceRecord | undefined): SourceReport['files'] {
  const paths = new Set([...was.files, ...(is?.files ?? [])].map(({ path }) => path))
  const of = (source: SourceRecord | undefined, wanted: string): string | null =>
    source?.files.find(({ path }) => path === wanted)?.fingerprint ?? null
  return [...paths].map((path) => ({ path, was: of(was, path), is: of(is, path) }))
}

function sourceReport(was: SourceRecord, now: readonly SourceRecord[]): SourceReport {
  const is = now.find(({ name }) => name === was.name)
  const files = filesOf(was, is)
  const known = files.length > 0
  const changed = known ? files.some((file) => file.was !== file.is) : is?.rows !== was.rows
  const state = !is ? 'unread' : changed ? 'changed' : known ? 'same' : 'unknown'
  return { name: was.name, state, files: files.filter((file) => file.was !== file.is) }
}

const ABOUT_NEW =
  'The template tells what is new since the last delivered insight, which the file does not hold: what it prints of `new` may differ for that reason alone.'
const TELLS_NEW = /\.new\b|\[["']new["']\]/

export function reportOf(insight: InsightRecord, template: TemplateSource, outcome: Outcome): Report {
  const { template_id, lineage } = insight
  const failed = 'failed' in outcome ? outcome.failed : null
  const now = 'lineage' in outcome ? outcome.lineage : null
  const { total, hold, ...lists } =
    'comparison' in outcome ? outcome.comparison : uncomputed(insight, 'it cannot be computed')
  const { changed, added, unchecked, words, charts } = lists
  const holds = failed === null && hold === total && added.length + words.length + charts.length === 0
  const texts = [template.source, ...Object.values(template.partials)]
  return {
    holds,
    template_id,
    template_version: { was: insight.template_version, is: template.version },
    assay_version: { was: lineage.assay_version, is: now?.assay_version ?? null },
    started_at: lineage.started_at,
    values: {
      total,
      hold,
      changed: changed.length,
      unchecked: unchecked.length,
      added: added.length,
    },
    ...lists,
    sources: now && lineage.sources.map((source) => sourceReport(source, now.sources)),
    failed,
    notes: !holds && failed === null && texts.some((one) => TELLS_NEW.test(one)) ? [ABOUT_NEW] : [],
  }
}

/** The most rows of a list that the text shows; `--json` has all. */
const MOST_SHOWN = 50
const WIDER = 100
/** The characters of a fingerprint that are shown: "sha256:" and twelve digits. */
const FINGERPRINT_SHOWN = 19

function short(text: string, widest = 60): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > widest ? `${line.slice(0, widest)}...` : line
}

/** Writes an origin as a template would: `days[3].late_share`, `trend.slope`, `vars.top`. */
function originText({ block, field, row, rows, column, variable, run }: Origin): string {
  if (variable !== undefined) return `vars.${variable}`
  if (run !== undefined) return `run.${run}`
  const list = [block, field].filter((name) => name !== undefined).join('.')
  const at = row !== undefined ? `[${row}]` : rows ? `[${rows[0]}..${rows[1]}]` : ''
  return `${list}${at}${column === undefined ? '' : `.${column}`}`
}

const fromText = (from: readonly Origin[]): string => short(from.map(originText).join(', '))

function listed(title: string, header: string[], rows: (string | number)[][]): string[] {
  if (rows.length === 0) return []
  const more = rows.length > MOST_SHOWN ? `${rows.length - MOST_SHOWN} more: --json has all.\n` : ''
  return [`${title}\n\n${table(header, rows.slice(0, MOST_SHOWN))}${more}`]
}

function sourceText({ name, state, files }: SourceReport): string[] {
  const had = (print: string | null): string => print?.slice(0, FINGERPRINT_SHOWN) ?? 'not there'
  const which = files.map(({ path, was, is }) => `  ${path}: was ${had(was)}, is ${had(is)}`).join('\n')
  if (state === 'changed') return [`The source "${name}" has changed.\n${which && `${which}\n`}`]
  if (state === 'unread') return [`The template reads no source "${name}" any more.\n`]
  if (state === 'unknown')
    return [
      `The source "${name}" is a query over a connection: whether its rows are those of the insight is not known.\n`,
    ]
  return []
}

function summary({ holds, values, template_id, started_at, failed }: Report): string {
  const { total, hold, changed, unchecked, added } = values
  const rest = [
    changed > 0 ? `${changed} changed` : '',
    unchecked > 0 ? `${unchecked} cannot be checked` : '',
    added > 0 ? `${added} are new` : '',
  ].filter((part) => part !== '')
  const end = rest.length > 0 ? `; ${rest.join(', ')}.` : holds ? ', and so do the words around them.' : '.'
  const reason = failed ? `${failed.code}: ${failed.detail}\n` : ''
  return `${short(template_id)}, computed as of ${started_at}: ${hold} of ${total} values hold${end}\n${reason}`
}

function versions({ template_version, assay_version, failed }: Report): string[] {
  const other = template_version.was !== template_version.is
  const assay = failed === null && assay_version.was !== assay_version.is
  return [
    ...(other
      ? [
          `The insight is of version ${template_version.was}, the template is version ${template_version.is}.\n`,
        ]
      : []),
    ...(assay
      ? [`Assay ${assay_version.was} made the insight, Assay ${assay_version.is} computed it again.\n`]
      : []),
  ]
}

export function reportText(report: Report): string {
  const { changed, added, unchecked, words, charts, sources, notes, failed } = report
  const gone = 'nothing'
  return [
    summary(report),
    ...listed(
      'Changed:',
      ['LINE', 'WAS', 'IS', 'FROM'],
      changed.map(({ line, was, is, from }) => [line, short(was), short(is ?? gone), fromText(from)]),
    ),
    ...listed(
      'Printed now, and not in the insight (lines of the new text):',
      ['LINE', 'IS', 'FROM'],
      added.map(({ line, is, from }) => [line, short(is), fromText(from)]),
    ),
    ...(failed
      ? []
      : listed(
          'Not checked:',
          ['LINE', 'WAS', 'REASON'],
          unchecked.map(({ line, was, reason }) => [line, short(was), reason]),
        )),
    ...listed(
      'Other words:',
      ['LINE', 'WAS', 'IS'],
      words.map(({ line, was, is }) => [line, short(was, WIDER), short(is, WIDER)]),
    ),
    ...charts.map((id) => `The chart "${id}" shows other values.\n`),
    ...(sources ?? []).flatMap(sourceText),
    ...versions(report),
    ...notes.map((note) => `${note}\n`),
  ].join('\n')
}
