/** Reads an insight for the console: the JSON of a result with typed parts, and searches in it. */

import type { Chart, Fact, InsightView, Lineage, Outcome, Table } from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'

/**
 * A chart with its drawing. `figure`: the HTML of the page with the drawings, the text of each value, and the numbers
 * below.
 */
export type DrawnChart = Chart & { svg: string | null; figure: string }

type Typed = 'tables' | 'charts' | 'analyses' | 'facts' | 'lineage' | 'provenance'

export interface Insight extends Omit<InsightView, Typed> {
  tables: Record<string, Table>
  charts: DrawnChart[]
  analyses: Record<string, Outcome>
  facts: Fact[]
  /** The marks. Absent in insights without a record of places. */
  provenance?: Mark[]
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

/** Returns the anchor of a block in the section "How this was computed". */
export function blockAnchor(insight_id: string, block: string): string {
  return `block-${insight_id.slice(-12)}-${block}`
}
