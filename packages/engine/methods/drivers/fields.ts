/** The causes of a change in an outcome. */
import Type from 'typebox'
import { cell, number, rowsWith } from '../shared/fields.ts'

export const CAUSES = rowsWith({
  where: Type.Record(Type.String(), cell),
  before: number,
  after: number,
  change: number,
  expected: number,
  share: number,
  low: number,
  high: number,
  q: number,
})
