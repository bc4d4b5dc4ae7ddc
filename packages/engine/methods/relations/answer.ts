/** The options and the answer of association, shared by two categories and two numbers. */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { type Meanings, measureOf } from '../../verdicts/measure.ts'
import type { Doubting, Finding } from '../../verdicts/verdict.ts'

export const NUMBERS = ['pearson', 'spearman', 'kendall', 'partial', 'partial_spearman'] as const
export const CATEGORIES = ['chi_square', 'fisher', 'cochran_mantel_haenszel'] as const

export const Options = Type.Object(
  {
    x: Type.String(),
    y: Type.String(),
    strata: Type.Optional(Type.String({ description: 'A category within which x and y are compared.' })),
    controls: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 10,
        description: 'Numbers whose lines are taken out of x and y.',
      }),
    ),
    as: Type.Enum(['auto', 'numbers', 'categories'], {
      default: 'auto',
      description: 'How the columns are read; auto goes by their types.',
    }),
    test: Type.Enum(['auto', ...CATEGORIES, ...NUMBERS], { default: 'auto' }),
  },
  { additionalProperties: false },
)
export type Options = Static<typeof Options>

export interface Answer {
  kind: 'categories' | 'numbers' | 'number by category'
  test: string
  name: string
  reason: string | null
  statistic: number | null
  df: number | null
  p: number | null
  effect: string | null
  effect_size: number | null
  low: number | null
  high: number | null
  n: number
  counts: { x: string; y: string; n: number; expected: number | null }[]
  doubts: Doubting[]
  /** Writes the claim with "clearly" or "probably". */
  claim: (sure: string) => string
  /** How another method answered, if one did. */
  finding?: Finding
}

export const NOTHING = {
  test: 'none',
  name: 'test of association',
  reason: null,
  statistic: null,
  df: null,
  p: null,
  effect: null,
  effect_size: null,
  low: null,
  high: null,
  counts: [],
  doubts: [] as Doubting[],
  claim: () => '',
}

export function labels({ x, y }: Options, meanings: Meanings): [string, string] {
  return [measureOf(meanings, x).label, measureOf(meanings, y).label]
}

/** Says how strong the link is, as the end of a claim. */
export const strength = (size: number): string =>
  size < 0.1
    ? ', but weakly'
    : size < 0.3
      ? ' to a small degree'
      : size < 0.5
        ? ' to a fair degree'
        : ' to a high degree'
