/** Holds the shown insight, for the charts and tables in its text. */
import { createContext, useContext } from 'react'
import type { Insight } from '../../insights.ts'

export const InsightContext = createContext<Insight | null>(null)

export function useInsightContext(): Insight | null {
  return useContext(InsightContext)
}
