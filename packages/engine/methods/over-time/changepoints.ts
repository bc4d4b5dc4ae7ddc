/**
 * changepoints: finds where the level of a series changed, and by how much.
 *
 * The strongest change of level is accepted if it exceeds its noise (series/level-shift.ts). Then each side is searched
 * in the same way: binary segmentation (Vostrikova 1981) with a test in place of a penalty. The noise may be as
 * persistent as a random walk and have heavy tails. Seasons that the series shows, and a line if it rises or falls, are
 * fitted together with the change. A course that a straight or bent line explains as well as steps is no change
 * (series/levels/steps-or-curve.ts). A stretch of five values or more that leaves the level and returns
 * (series/spikes/short-levels.ts) is also a level. The series is fetched (at most 50,000 times).
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { besideSeasons } from '../../series/beside-seasons.ts'
import type { LevelChange } from '../../series/level-changes.ts'
import { type LevelSizes, levelSizes } from '../../series/levels/level-sizes.ts'
import type { Time } from '../../series/load.ts'
import { type ReadSeries, readSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { seasonColumns } from '../../series/seasons.ts'
import { atTime, spanOf } from '../../series/spans.ts'
import { withShortLevels } from '../../series/spikes/short-levels.ts'
import { allAlike, tooFew } from '../../verdicts/common-doubts.ts'
import { opening } from '../../verdicts/measure.ts'
import { gradeOf, verdict } from '../../verdicts/verdict.ts'
import { both, CERTAINTY } from '../../verdicts/words.ts'
import { seriesColumns } from '../shared/columns.ts'
import { diagnosis, integer, moment, number, pAdjusted, rowsWith } from '../shared/fields.ts'
import type { Method } from '../shared/method.ts'
import { count, enumeration, figure, finite, label, probability, signed } from '../shared/sentence.ts'

const Options = Type.Object({ ...SERIES_OPTIONS }, { additionalProperties: false })

const METHOD = 'binary segmentation, level beside persistent noise'
const LEAST = 8

interface Point {
  /** The number of rows of the old level, from the start of the series. */
  index: number
  /** The first time of the new level. */
  time: Time
  before: number | null
  after: number | null
  change: number | null
  p: number
}

export const changepoints: Method = {
  name: 'changepoints',
  options: Options,
  columns: seriesColumns,
  news: { lists: ['points'], key: ['time'] },
  prints: () => true,
  fields: {
    points: rowsWith({
      index: integer,
      time: moment,
      before: number,
      after: number,
      change: number,
      p: number,
    }),
    noise: number,
    p: number,
    p_adjusted: pAdjusted,
    diagnosis,
  },
  async run(table, options, context) {
    const given = options as Static<typeof Options>
    const lasting = await readSeries(table, given, context)
    const { series } = lasting
    const n = series.values.length
    const stop = stopOf(lasting)
    const changes = stop ? [] : changesOf(lasting)
    const read = { ...lasting, changes }
    const sizes = stop ? null : sizesOf(read)
    const points = sizes ? pointsOf(read, sizes) : []
    const p = points.length === 0 ? null : Math.min(...points.map((point) => point.p))
    const told = verdict({
      unfound: { points: [] },
      headline: (grade) => headline(read, points, grade),
      grade: gradeOf(p),
      evidence: evidence(read.measure.label, n, points),
      doubts: [...(stop ? [stop] : []), ...read.doubts],
    })
    return {
      ...told,
      n,
      method: METHOD,
      points,
      noise: sizes && finite(sizes.noise * series.unit),
      p,
      diagnosis: read.diagnosis,
    }
  },
}

/** Returns the changes, including those of levels too short for the model of the series. */
const changesOf = ({ series, rows, seasons, changes }: ReadSeries): LevelChange[] =>
  withShortLevels(
    changes,
    series.values,
    rows,
    seasons.flatMap(({ period }) => seasonColumns(rows, period)),
  )

function stopOf({ series, measure }: ReadSeries): Doubt | null {
  const n = series.values.length
  if (n < LEAST) return tooFew(n, measure.label, 'a change of level needs', LEAST)
  return series.values.every((value) => value === series.values[0]) ? allAlike(measure.label) : null
}

/**
 * Returns the levels after the seasons are removed. So a change in midwinter does not include the step from summer to
 * winter.
 */
function sizesOf({ series, rows, seasons, changes }: ReadSeries): LevelSizes {
  const places = changes.map(({ index }) => index)
  return levelSizes(besideSeasons(series.values, rows, seasons, places), rows, changes)
}

const pointsOf = ({ series, changes }: ReadSeries, { sizes }: LevelSizes): Point[] =>
  changes.map(({ index, p }, nth) => {
    const { before, after } = sizes[nth]!
    return {
      index,
      time: series.times[index]!,
      before: finite(before * series.unit),
      after: finite(after * series.unit),
      change: finite((after - before) * series.unit),
      p,
    }
  })

const bySize = (points: readonly Point[]): Point[] =>
  points.toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0))

function headline({ series, grid, measure }: ReadSeries, points: readonly Point[], grade: Grade): string {
  const [largest] = bySize(points)
  if (!largest || grade === 'unclear')
    return `No clear change of level in ${measure.label} ${spanOf(series, grid)}.`
  const step = largest.change
  const levels = `from about ${both([largest.before, largest.after], measure, { joined: 'to about', step })}`
  const when = atTime(largest.time, grid)
  const name = opening(measure.label)
  const verb = (largest.change ?? 0) > 0 ? 'rose to a higher' : 'fell to a lower'
  if (points.length === 1) return `${name} ${CERTAINTY[grade]} ${verb} level ${when}: ${levels}.`
  return `${name} ${CERTAINTY[grade]} changed level ${points.length === 2 ? 'twice' : `${points.length} times`}; the largest change came ${when}, ${levels}.`
}

function evidence(value: string, n: number, points: readonly Point[]): string {
  if (points.length === 0) return `${count(n, 'value')} of ${value}.`
  const told = bySize(points)
    .slice(0, 3)
    .toSorted((a, b) => a.index - b.index)
    .map(
      ({ time, before, after, change, p }) =>
        `${label(time)}: ${figure(before, change)} to ${figure(after, change)} (${signed(change, change)}, ${probability(p)})`,
    )
  return `${enumeration(told)} (n = ${count(n, 'value')}).`
}
