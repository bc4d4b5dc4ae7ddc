/**
 * The reading of an insight, which its page shows around the text: the most important doubts, how sure the headline
 * is, figures as tiles, and the evidence behind each finding. It is made when the insight is computed, so that every
 * page and mail shows the same.
 */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

const Grade = Type.Enum(['firm', 'likely', 'unclear', 'withheld'])

/** The change of a figure against another: "up 5.4 points from the week of 11 June 2001". */
const TileChange = Type.Object({
  direction: Type.Enum(['up', 'down', 'level']),
  text: Type.String({ description: 'In words, such as "up 5.4 points from May 2001"' }),
  good: nullable(
    Type.Boolean({ description: 'Whether the change is good; null where nobody says which way is' }),
  ),
})
export type TileChange = Static<typeof TileChange>

/** The steps before a figure, and the range of the middle 80 % of the earlier ones. */
const TileCourse = Type.Object({
  points: Type.Array(Type.Object({ at: Type.String(), value: nullable(Type.Number()) })),
  low: nullable(Type.Number()),
  high: nullable(Type.Number()),
})
export type TileCourse = Static<typeof TileCourse>

export const Tile = Type.Object({
  of: Type.String({ description: 'The block, with the field, column or group, such as review.flights' }),
  label: Type.String(),
  value: nullable(Type.Number()),
  text: Type.String({ description: 'The value with its unit' }),
  when: nullable(Type.String({ description: 'The time of the value in words' })),
  changes: Type.Array(TileChange),
  target: nullable(
    Type.String({ description: 'The target in words, such as "target 20 %: 1.6 points more"' }),
  ),
  note: nullable(Type.String({ description: 'What else belongs to the value, such as its range' })),
  doubt: nullable(Type.String({ description: 'Why the value is doubtful' })),
  course: nullable(TileCourse),
})
export type Tile = Static<typeof Tile>

/** The evidence of a sentence in the text. */
export const Proof = Type.Object({
  block: Type.String(),
  by: nullable(Type.String({ description: 'The group, for an analysis with `by`' })),
  says: Type.String({ description: 'The headline, as the text prints it' }),
  grade: Grade,
  evidence: Type.String(),
  notes: Type.Array(Type.String()),
  method: Type.String(),
  of: Type.String({ description: 'The block or source that it was computed from' }),
  n: Type.Integer(),
})
export type Proof = Static<typeof Proof>

/** The most tiles of a page. */
export const MOST_TILES = 4

export const Reading = Type.Object({
  blockers: Type.Array(Type.String(), { description: 'What forbids an answer, one sentence each' }),
  grade: nullable(Grade),
  tiles: Type.Array(Tile),
  proofs: Type.Array(Proof),
})
export type Reading = Static<typeof Reading>

/** The reading as the JSON of an insight has it. */
export const ReadingView = Type.Object({
  ...Reading.properties,
  html: Type.Object({
    above: Type.String({ description: 'The blockers, as HTML' }),
    below: Type.String({ description: 'The tiles, as HTML' }),
  }),
})
