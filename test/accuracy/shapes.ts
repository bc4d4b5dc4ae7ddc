/** Compares skewness, kurtosis and the values beyond fences with published ones. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'
import { type Figure, figures } from './figure.ts'

/** The values of NIST handbook, 7.1.6, in order. */
const HANDBOOK = [
  30, 171, 184, 201, 212, 250, 265, 270, 272, 289, 305, 306, 322, 322, 336, 346, 351, 370, 390, 404, 409, 411,
  436, 437, 439, 441, 444, 448, 451, 453, 470, 480, 482, 487, 494, 495, 499, 503, 514, 521, 522, 527, 548,
  550, 559, 560, 570, 572, 574, 578, 585, 592, 592, 607, 616, 618, 621, 629, 637, 638, 640, 656, 668, 707,
  709, 719, 737, 739, 752, 758, 766, 792, 792, 794, 802, 818, 830, 832, 843, 858, 860, 869, 918, 925, 953,
  991, 1000, 1005, 1068, 1441,
]

export async function shapes(nile: number[]): Promise<Figure[]> {
  const tests = JSON.parse(readFileSync(path.join(import.meta.dirname, 'tests.json'), 'utf8')) as {
    figures: { case: string; source: string; values: { skewness: number; kurtosis: number } }[]
  }
  const known = tests.figures.find((one) => one.case === 'Nile, shape')!
  const shape = await outcomeOf(METHODS.describe!, await columnsOf({ v: nile }), { value: 'v' })
  const far = await outcomeOf(METHODS.outliers!, await columnsOf({ v: HANDBOOK }), {
    value: 'v',
    rule: 'iqr',
  })
  const points = far.points as { value: number }[]
  return [
    ...figures(
      { of: 'describe', case: 'Nile, skewness G1 and excess kurtosis G2', source: known.source, least: 13 },
      {
        G1: [known.values.skewness, shape.skewness],
        G2: [known.values.kurtosis, shape.kurtosis],
      },
    ),
    ...figures(
      {
        of: 'outliers',
        case: 'beyond the inner fences',
        source: 'NIST handbook 7.1.6, 90 values',
        least: 15,
      },
      { 'number of outliers': [1, points.length], outlier: [1441, points[0]?.value] },
    ),
  ]
}
