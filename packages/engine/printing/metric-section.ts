/** What an insight says of the metrics that it used: a notice above the report where a test failed, and its part of the lineage. */
import type { Lineage } from '@assay/model/insight'
import { type Mark, movedMarks } from '@assay/model/provenance'
import type { Printed } from '../language/recorder.ts'
import { codeSpan, escapeMarkdown } from './escape.ts'
import { layOut } from './tables.ts'

/** The report with the failed tests under its first heading. What the report says already is not repeated. */
export function withMetricNotice({ text, marks }: Printed, { metrics = [] }: Lineage): Printed {
  const failed = metrics.flatMap(({ tests }) =>
    tests.filter(({ ok }) => !ok).map(({ found }) => escapeMarkdown(found)),
  )
  const unsaid = [...new Set(failed)].filter((sentence) => !text.includes(sentence))
  if (unsaid.length === 0) return { text, marks }
  const notice = unsaid.map((sentence) => `> **${sentence}**`).join('\n>\n')
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
