/**
 * A card: the part of an insight that lists show. It is written together with the insight, so that a list never reads
 * the bodies of insights.
 */
import type { Static } from 'typebox'
import { GRADES } from '../insight.ts'
import { FailedTest } from '../metric.ts'
import { nullable, Type } from '../schema.ts'

/** The most characters of a card's headline. A longer one is cut after a word. */
export const HEADLINE_MOST = 300

/** The most characters of the searched text. Later text is not found. */
export const SEARCHED_MOST = 1000

/** The most words of a search. Further words are ignored. */
export const SEARCH_WORDS_MOST = 4

/** The most points of a figure's history, its own included. */
export const HISTORY_MOST = 12

/** The number that an insight is about: the first fact of its template. */
const Figure = Type.Object({
  label: Type.String({ description: 'What it is, such as "share of late flights"' }),
  value: Type.Number(),
  unit: nullable(Type.String({ description: 'As the template declares it, such as "minutes"' })),
  text: Type.String({ description: 'The value as the insight prints it, such as "22.3 %"' }),
})

/** One point of a figure's history. */
const Point = Type.Object({
  insight_id: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  period: nullable(Type.String()),
  value: Type.Number(),
})
export type Point = Static<typeof Point>

export const InsightCard = Type.Object(
  {
    insight_id: Type.String({ format: 'uuid' }),
    assignment_id: Type.String({ format: 'uuid' }),
    template_id: Type.String(),
    title: Type.String({ description: 'With the variables filled in' }),
    headline: nullable(Type.String({ description: 'The first sentence of the report, as plain text' })),
    grade: nullable(
      Type.Enum([...GRADES], { description: 'How sure its first analysis is; null: it has none' }),
    ),
    figure: nullable(Figure),
    history: Type.Array(Point, {
      description: `The figure over the runs of the same template with the same variables but the period, oldest first, at most ${HISTORY_MOST}, one for each period; the last is its own`,
    }),
    period: nullable(Type.String({ description: 'The period that it reports on, in words' })),
    series: Type.String({
      description: 'The same for all runs of a template whose variables differ in nothing but the period',
    }),
    failed_tests: nullable(
      Type.Array(FailedTest, {
        description: 'Tests of the metrics it reads that failed, such as of data that are late; null: none',
      }),
    ),
    tags: Type.Array(Type.String(), { description: 'Of the template, when it ran' }),
    user_id: Type.String({ description: 'The user whose job made it' }),
    schedule_id: nullable(Type.String({ format: 'uuid', description: 'The schedule that ran it' })),
    reader_id: nullable(
      Type.String({ description: 'The reader whose insight it is: only that reader and admins find it' }),
    ),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'InsightCard' },
)
export type InsightCard = Static<typeof InsightCard>

/** Returns the words of a search in the form of the searched text of cards. */
export function searchWords(text: string): string[] {
  return searchable(text)
    .split(/\s+/u)
    .filter((word) => word !== '')
    .slice(0, SEARCH_WORDS_MOST)
}

/** Returns a text as it is searched: in lower case, composed, with single blanks. */
export function searchable(text: string): string {
  return text.normalize('NFC').toLowerCase().replaceAll(/\s+/gu, ' ').trim()
}
