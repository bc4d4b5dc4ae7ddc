/** The columns of cards: what the list of insights shows, beside the insights, whose bodies are large. */
import type { CardFound } from '@assay/model/insight'
import type { InsightCard } from '@assay/model/insight-card'
import { Table } from '../table.ts'

export interface CardRow extends Omit<InsightCard, 'history'> {
  workspace_id: string
  /** The ids of the metrics that the insight is about. */
  metrics: string[]
  /** The first day of the period. */
  period_start: string | null
  /** The unit of the figure. */
  figure_value: number | null
  search: CardFound['search']
}

export const INSIGHT_CARDS = new Table<CardRow>('insight_cards', ['insight_id'], {
  insight_id: 'text',
  assignment_id: 'text',
  workspace_id: 'text',
  template_id: 'text',
  title: 'text',
  headline: 'text?',
  grade: 'text?',
  figure: 'json?',
  figure_value: 'real?',
  period: 'text?',
  period_start: 'text?',
  series: 'text',
  failed_tests: 'json?',
  tags: 'json',
  metrics: 'json',
  search: 'text',
  user_id: 'text',
  schedule_id: 'text?',
  reader_id: 'text?',
  created_at: 'time',
})
