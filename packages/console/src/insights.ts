/** An insight as the console reads it: the JSON of a result with typed parts, and searches in it. */

import type { Chart, Fact, InsightView, Lineage, Outcome, Table } from '@assay/model/insight'
import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'

/** `figure` is the HTML of the page: drawings, the text of each value, and the numbers below. */
export type DrawnChart = Chart & { svg: string | null; figure: string }

export interface Insight extends Omit<InsightView, 'tables' | 'charts' | 'analyses' | 'facts' | 'lineage'> {
  tables: Record<string, Table>
  charts: DrawnChart[]
  analyses: Record<string, Outcome>
  facts: Fact[]
  lineage: Lineage
}

export function useInsight(insight_id: string | undefined) {
  return useQuery({
    queryKey: ['insight', insight_id],
    queryFn: async () => (await api().jobs.json(insight_id!, 'link')) as unknown as Insight,
    enabled: insight_id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/**
 * The block that a table in the text shows: at least half of the headings are names of its columns (a heading may be a label
 * that the template gives). The most names win, then the fewest columns; null if no block has them.
 */
export function blockOfTable(
  { tables }: Pick<Insight, 'tables'>,
  headings: readonly string[],
): string | null {
  const wanted = headings.map((heading) => heading.toLowerCase())
  const fits = Object.entries(tables).flatMap(([name, { columns }]) => {
    const names = new Set(columns.map((column) => column.name.toLowerCase()))
    const shared = wanted.filter((heading) => names.has(heading)).length
    const enough = shared > 0 && shared * 2 >= wanted.length && names.size >= wanted.length
    return enough ? [{ name, shared, columns: names.size }] : []
  })
  return fits.toSorted((a, b) => b.shared - a.shared || a.columns - b.columns)[0]?.name ?? null
}

/** The anchor of a block in the section "How this was computed". */
export function blockAnchor(insight_id: string, block: string): string {
  return `block-${insight_id.slice(-12)}-${block}`
}
