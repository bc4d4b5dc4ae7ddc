/** Describes the column `value` of a metric's block for readers. */
import type { MetricEvent, MetricInfo } from '@assay/model/metric'
import type { ColumnMeaning, SqlBlock, Template } from '@assay/model/template'
import type { Meanings } from '../verdicts/measure.ts'

/** The column of a block over several metrics that names them. */
export const METRIC = 'metric'

/** Returns the metrics that a relation is made of, directly or through SQL. */
export function metricsBehind(
  name: string,
  template: Template,
  readsOf: (block: string) => readonly string[],
): SqlBlock[] {
  const found = new Map<string, SqlBlock>()
  const seen = new Set<string>()
  const visit = (one: string): void => {
    if (seen.has(one)) return
    seen.add(one)
    const block = template.blocks.find((each) => each.name === one)
    if (block?.kind === 'sql' && block.metrics) found.set(one, block)
    for (const read of readsOf(one)) visit(read)
  }
  visit(name)
  return [...found.values()]
}

/** Returns the meaning of the column `value` of a metric's block. */
export function meaningOf({ label, unit, fmt, good, target, time }: MetricInfo): ColumnMeaning {
  // A target for a month does not apply to a day.
  return { label, unit, fmt, good, target: target?.per === time.grain ? target.value : null }
}

/** What a single metric gives to the rows of a block: the meanings of its columns, and its events. */
export interface MetricOfRows {
  meanings: Meanings
  events: readonly MetricEvent[]
}

/** Returns the metric of the rows of a block; null if no metric, or several, are behind it. */
export function metricOfRows(
  template: Template,
  declared: Meanings,
  readsOf: (block: string) => readonly string[],
): (block: string) => MetricOfRows | null {
  return (name) => {
    const blocks = metricsBehind(name, template, readsOf)
    const infos = blocks.flatMap(({ metrics = [] }) => metrics.map(({ info }) => info))
    const [info] = infos
    if (!info || infos.some(({ metric }) => metric !== info.metric)) return null
    return { meanings: withMetricMeanings(declared, blocks), events: info.events }
  }
}

/**
 * Returns the template's meanings, with that of `value` if it belongs to a single metric. The template's own meaning
 * wins.
 */
export function withMetricMeanings(meanings: Meanings, blocks: readonly SqlBlock[]): Meanings {
  const infos = new Map(blocks.flatMap(({ metrics = [] }) => metrics.map(({ info }) => [info.metric, info])))
  const [info] = infos.values()
  if (infos.size !== 1 || !info || meanings.has('value')) return meanings
  return new Map([...meanings, ['value', meaningOf(info)]])
}
