/**
 * Writes the parts of an insight about its metrics and its writer: notices above the report, and the metrics' part of
 * the lineage.
 */
import type { Lineage } from '@assay/model/insight'
import { type Mark, movedMarks } from '@assay/model/provenance'
import type { Printed } from '../language/recorder.ts'
import { codeSpan, escapeMarkdown } from './escape.ts'
import { layOut } from './tables.ts'

const writer = (model: string): string =>
  `> **A language model (${escapeMarkdown(model)}) wrote the template of this report.** Its numbers are computed; what they are taken for may be wrong.`

/**
 * Returns the report with the failed tests and its writer under its first heading. A failed test that the report
 * already states is not repeated.
 */
export function withNotices({ text, marks }: Printed, { metrics = [], written_by }: Lineage): Printed {
  const failed = metrics.flatMap(({ tests }) =>
    tests.filter(({ ok }) => !ok).map(({ found }) => escapeMarkdown(found)),
  )
  const unsaid = [...new Set(failed)].filter((sentence) => !text.includes(sentence))
  const notices = unsaid.map((sentence) => `> **${sentence}**`)
  if (written_by !== undefined) notices.push(writer(written_by))
  if (notices.length === 0) return { text, marks }
  const notice = notices.join('\n>\n')
  const heading = /^#[ \t][^\n]*\n?/m.exec(text)
  const at = heading ? heading.index + heading[0].length : 0
  const inserted = heading ? `\n${notice}\n` : `${notice}\n\n`
  const moved = movedMarks(marks, [{ start: at, end: at, length: inserted.length }])
  const start = at + (heading ? 1 : 0)
  const own: Mark = { start, end: start + notice.length, from: [], by: 'lineage' }
  return {
    text: `${text.slice(0, at)}${inserted}${text.slice(at)}`,
    marks: [...moved.filter((mark) => mark.start < at), own, ...moved.filter((mark) => mark.start >= at)],
  }
}

export function metricSection({ metrics = [] }: Lineage): string[] {
  if (metrics.length === 0) return []
  const rows = metrics.map(({ metric, version, tests }) => [
    codeSpan(metric),
    codeSpan(version),
    testsText(tests),
  ])
  return ['### Metrics', layOut(['Metric', 'Version', 'Tests'], rows, ['left', 'left', 'left'])]
}

function testsText(tests: { test: string; ok: boolean }[]): string {
  if (tests.length === 0) return 'none declared'
  const failed = tests.filter(({ ok }) => !ok).map(({ test }) => codeSpan(test))
  return failed.length === 0
    ? `${tests.length} hold`
    : `${failed.join(', ')} failed; ${tests.length - failed.length} hold`
}
