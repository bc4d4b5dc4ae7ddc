/** An insight as the console reads it: the JSON of a result with typed parts, and searches in it. */

import type { Chart, Fact, InsightView, Lineage, Outcome, Table } from '@assay/model/insight'
import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'

export type DrawnChart = Chart & { svg: string | null }

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

/** The block whose columns include all headings of a table in the text; null if there is none. */
export function blockOfTable(
  { tables }: Pick<Insight, 'tables'>,
  headings: readonly string[],
): string | null {
  if (headings.length === 0) return null
  const fits = Object.entries(tables).filter(([, { columns }]) =>
    headings.every((heading) => columns.some(({ name }) => name === heading)),
  )
  const closest = fits.toSorted(([, a], [, b]) => a.columns.length - b.columns.length)[0]
  return closest?.[0] ?? null
}

/** The anchor of a block in the section "How this was computed". */
export function blockAnchor(insight_id: string, block: string): string {
  return `block-${insight_id.slice(-12)}-${block}`
}
