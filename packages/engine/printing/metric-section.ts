/** What an insight says of the metrics that it used: a notice above the report where a test failed, and its part of the lineage. */
import type { Lineage } from '@assay/model/insight'
import { codeSpan, escapeMarkdown } from './escape.ts'
import { layOut } from './tables.ts'

/** The report with the failed tests under its first heading. What the report says already is not repeated. */
export function withMetricNotice(markdown: string, { metrics = [] }: Lineage): string {
  const failed = metrics.flatMap(({ tests }) =>
    tests.filter(({ ok }) => !ok).map(({ found }) => escapeMarkdown(found)),
  )
  const unsaid = [...new Set(failed)].filter((sentence) => !markdown.includes(sentence))
  if (unsaid.length === 0) return markdown
  const notice = unsaid.map((sentence) => `> **${sentence}**`).join('\n>\n')
  const heading = /^#[ \t][^\n]*\n?/m.exec(markdown)
  if (!heading) return `${notice}\n\n${markdown}`
  const end = heading.index + heading[0].length
  return `${markdown.slice(0, end)}\n${notice}\n${markdown.slice(end)}`
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
