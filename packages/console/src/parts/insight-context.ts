/** The insight whose text is being shown, for the charts and tables in it. */
import { createContext, useContext } from 'react'
import type { Insight } from '../insights.ts'

export const InsightContext = createContext<Insight | null>(null)

export function useInsightContext(): Insight | null {
  return useContext(InsightContext)
}
