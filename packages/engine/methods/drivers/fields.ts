/** The causes of a change in an outcome. */
import { Type } from '@assay/model/schema'
import { cell, number, rowsWith, text } from '../shared/fields.ts'

export const CAUSES = rowsWith({
  where: Type.Record(Type.String(), cell),
  kind: Type.Optional(text),
  weight_before: Type.Optional(number),
  weight_after: Type.Optional(number),
  before: number,
  after: number,
  change: number,
  expected: number,
  share: number,
  low: number,
  high: number,
  q: number,
})
