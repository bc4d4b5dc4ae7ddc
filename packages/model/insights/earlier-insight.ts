/**
 * An earlier run with which a reader compares an insight: of the same template, with the same variables except the
 * period.
 */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

/**
 * The distances of an earlier run. `before` is the nearest of an earlier period, `again` the latest earlier run of
 * the same period; without periods `before` is the run before.
 */
export const STEPS_BACK = ['before', 'again', 'day', 'week', 'month', 'year'] as const
export type StepBack = (typeof STEPS_BACK)[number]

export const EarlierInsight = Type.Object({
  steps: Type.Array(Type.Enum([...STEPS_BACK]), {
    description:
      'How far back it lies: the period before, the same period computed before, a day, a week, a month, a year',
  }),
  insight_id: Type.String({ format: 'uuid' }),
  title: Type.String(),
  period: nullable(Type.String({ description: 'The period that it reports on, in words' })),
  created_at: Type.String({ format: 'date-time' }),
})
export type EarlierInsight = Static<typeof EarlierInsight>
