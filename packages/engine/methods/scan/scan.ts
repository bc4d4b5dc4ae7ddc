/**
 * anomalies with a list `by`: scans the whole and each segment, and explains what stands out.
 *
 * The values of a time are added up. The whole, each value of each column and, with `depth`, their combinations are
 * judged as `anomalies` judges one series. They are judged once more among the values of all series (`judgeTogether`),
 * which bounds the chance of any false finding in the whole scan. All findings at one time are one event. Its surest
 * part (the whole, if that stands out) is handed to drivers. Its parts are compared with the value and interval by
 * which it was judged (shares.ts), so an anomaly and its explanation have one expectation. At most 400,000 rows are
 * fetched. A ratio of sums is judged as a series of rates, with the noise that its denominators imply
 * (series/spikes/by-size.ts). For counts no value is surer than the chance of so many events, corrected for all values
 * of the scan (Bonferroni).
 */
import type { Cell, Doubt, Outcome } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { atTime } from '../../series/spans.ts'
import { judgeTogether } from '../../series/spikes/spikes.ts'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { measureOf, opening } from '../../verdicts/measure.ts'
import { doubt, gradeOf, stopped, verdict } from '../../verdicts/verdict.ts'
import { whereInWords } from '../drivers/words.ts'
import { findPoints, isLarge, type Options, POINT, type Point, stopOf } from '../over-time/anomaly-points.ts'
import { CAUSES, cell, diagnosis, integer, number, rowsWith, text } from '../shared/fields.ts'
import { type MethodContext, MethodError, type Relation, type ScanOptions } from '../shared/method.ts'
import { holm } from '../shared/multiplicity.ts'
import { count } from '../shared/sentence.ts'
import { areByChance, chanceOf } from './chance.ts'
import { type Explained, explain } from './explain.ts'
import { isWhole } from './lacking.ts'
import { loadScan } from './load.ts'
import { type Measures, scannedOf } from './measures.ts'
import type { Scanned } from './scanned.ts'
import { MOST_SEGMENTS, type Segment, segmentsOf, seriesOf, wholeOf } from './segments.ts'
import { alsoInWords, evidence, headline } from './words.ts'

export interface Finding extends Point {
  where: Record<string, Cell>
  p_adjusted: number
  segment: Segment
  step: number
}

export interface Event extends Finding, Explained {
  /** The number of segments, including the whole, that stand out at that time. */
  segments: number
}

type Asked = Options & ScanOptions

const METHOD =
  'each segment beside its own seasons, levels and neighbours, judged by its own tails and by those of all together'
/** The number of ways to stand out, which share alpha. */
const WAYS = 2
const MOST_SILENT = 3
/** The most events that are explained. */
const MOST_EVENTS = 20

const FINDING = { ...POINT, where: Type.Record(Type.String(), cell), p_adjusted: number }

/** What the outcome of a scan holds. */
export const EVENTS = {
  findings: rowsWith(FINDING),
  events: rowsWith({
    ...FINDING,
    segments: integer,
    says: text,
    causes: CAUSES,
    explained: number,
    rest: text,
  }),
  scanned: integer,
  diagnosis,
}

export async function scan(table: Relation, given: ScanOptions, context: MethodContext): Promise<Outcome> {
  const options = given as Asked
  if (options.test !== 'auto')
    throw new MethodError(
      'test: a list in `by` goes with test: auto; esd and fences judge one series at a time.',
    )
  const { by } = options
  const asked = scannedOf(options, context)
  const scanned = await loadScan(table, asked, context)
  const { whole } = scanned
  const stop = stopOf(options, whole)
  if (stop) return nothing(scanned, stop)
  const { segments, left } = segmentsOf(scanned, by, options.depth)
  const all = [wholeOf(scanned, by), ...segments]
  const findings = judged(all, scanned, options)
  const events = eventsOf(findings, scanned, asked, context)
  const doubts = [
    ...whole.doubts,
    ...(options.missing === 'zero' ? [] : silent(scanned, events, by, context)),
    ...doubtsOf(all.length, left),
    ...withoutNumber(scanned),
  ]
  const p = findings.length === 0 ? null : Math.min(...findings.map(({ p_adjusted }) => p_adjusted))
  const told = verdict({
    headline: headline(whole, events, all.length, options),
    grade: gradeOf(p),
    evidence: evidence(findings.length, all.length, whole, p),
    doubts,
  })
  return {
    ...told,
    n: scanned.n,
    method: METHOD,
    findings: findings.map(({ segment: _segment, step: _step, ...row }) => row),
    events: events.map(({ segment: _segment, step: _step, ...row }) => row),
    scanned: all.length,
    diagnosis: whole.diagnosis,
  }
}

/**
 * Returns what stands out anywhere at `alpha`, in order of time, the whole first. Two ways share alpha. The first takes
 * the tails of a value's own series and corrects p over all series after Holm: it finds what is rare for its series.
 * The second takes the common tails of all series and asks that the own series agrees: it finds what is rare anywhere.
 * Counts and their ratios have a third way: the chance of so many events, corrected over all values (Bonferroni), if
 * all leaves together and the series itself vary no more than single events do. No ratio of counts is surer than that
 * chance. Sums may be steadier, as flights by timetable are.
 */
function judged(segments: readonly Segment[], scanned: Scanned, options: Options): Finding[] {
  const found = segments.flatMap((segment, index) => judgedAlone(segment, index, scanned, options))
  const corrected = holm(found.map(({ least }) => least))
  const together = found.filter(({ residuals }) => residuals !== null)
  const values = found.reduce((sum, { placeOf }) => sum + placeOf.size, 0)
  // The move of one part shows in every segment that holds it, even in one that does not stand out.
  const times = new Set(found.flatMap(({ points }) => points.map(({ time }) => time)))
  const most = found.reduce((sum, { points, farthest }) => {
    const beside = farthest.filter(({ time }) => times.has(time)).length
    return sum + (scanned.ratio ? points.length : Math.max(points.length, beside))
  }, 0)
  const among = judgeTogether(
    together.map(({ residuals }) => residuals!),
    most,
    options.alpha,
  )
  const byChance = areByChance(leavesAmong(found).flatMap(({ chance }) => chance ?? []))
  const ways = scanned.ratio || byChance ? WAYS + 1 : WAYS
  const findings = found.flatMap((one, index) => {
    const place = together.indexOf(one)
    const factor = one.least > 0 ? corrected[index]! / one.least : found.length
    const { segment, chance, own, placeOf, stepAt } = one
    return one.candidates.map((point): Finding => {
      const alone = own.has(point.time) ? (point.p ?? 1) : 1
      const beside = place < 0 ? 1 : Math.max(alone, among(place, placeOf.get(point.time)!))
      const step = stepAt.get(point.time)!
      const events = chance ? chance.likely(step, point.expected) : 0
      const byEvents = byChance && chance && areByChance([chance]) ? values * events : 1
      const least = scanned.ratio ? values * events : 0
      const p = Math.max(least, ways * Math.min(alone * factor, beside, byEvents))
      return { ...point, where: segment.where, p_adjusted: Math.min(1, p), segment, step }
    })
  })
  const told = findings.filter(
    ({ p_adjusted, segment, step }) => p_adjusted <= options.alpha && isWhole(scanned, segment, step),
  )
  return [...told, ...(scanned.ratio ? [] : goneWith(told, found))].toSorted(
    (a, b) => a.step - b.step || sizeOf(b.where) - sizeOf(a.where) || a.p_adjusted - b.p_adjusted,
  )
}

/** Returns the segments that fell to nothing together with a part of them. They fell as surely as that part. */
function goneWith(told: readonly Finding[], found: readonly Judged[]): Finding[] {
  const gone = told.filter(({ value }) => value === 0).toSorted((a, b) => a.p_adjusted - b.p_adjusted)
  return found.flatMap(({ segment, farthest }) => {
    const known = new Set(told.filter((one) => one.segment === segment).map(({ step }) => step))
    return gone.flatMap(({ segment: part, step, time, p_adjusted }): Finding[] => {
      const holds = segment.codes.every((code, at) => code === -1 || code === part.codes[at])
      const point = farthest.find((one) => one.time === time)
      if (!holds || !point || point.value !== 0 || known.has(step)) return []
      known.add(step)
      return [{ ...point, where: segment.where, p_adjusted, segment, step }]
    })
  })
}

/** Returns the segments that fix the most columns. Each row is in one of them. */
function leavesAmong<T extends { segment: Segment }>(found: readonly T[]): T[] {
  const depth = Math.min(...found.map(({ segment }) => sizeOf(segment.where)))
  return found.filter(({ segment }) => sizeOf(segment.where) === depth)
}

type Judged = ReturnType<typeof judgedAlone>[number]

/** Returns the values of one segment that may stand out by its own series; none if the series is too short. */
function judgedAlone(segment: Segment, index: number, scanned: Scanned, options: Options) {
  const { whole } = scanned
  const read = index === 0 ? whole : seriesOf(segment, scanned)
  if (stopOf(options, read)) return []
  const { points, farthest, residuals = null } = findPoints(options, read)
  const { times } = read.series
  const stepAt = new Map(whole.grid.times.map((time, step) => [time, step]))
  const steps = times.map((time) => stepAt.get(time)!)
  const chance = residuals && chanceOf(segment, scanned, steps, residuals.expected)
  const own = new Set(points.map(({ time }) => time))
  const beside = chance ? farthest.filter((point) => !own.has(point.time) && isLarge(options, point)) : []
  return [
    {
      segment,
      points,
      farthest,
      candidates: [...points, ...beside],
      residuals,
      chance,
      own,
      placeOf: new Map(times.map((time, at) => [time, at])),
      stepAt,
      least: Math.min(1, ...points.map(({ p }) => p ?? 1)),
    },
  ]
}

const sizeOf = (where: Record<string, Cell>): number => -Object.keys(where).length

/** Returns one event for each time, the surest first. */
function eventsOf(
  findings: readonly Finding[],
  scanned: Scanned,
  options: Measures,
  context: MethodContext,
): Event[] {
  const steps = new Set(findings.map(({ step }) => step))
  const usual = scanned.whole.rows.filter((step) => !steps.has(step))
  const gap = ({ value, expected }: Finding): number => Math.abs((value ?? 0) - (expected ?? 0))
  const surest = [...Map.groupBy(findings, ({ step }) => step).values()].map((together) => {
    const ofWhole = together.find(({ where }) => sizeOf(where) === 0)
    const order = together.toSorted((a, b) => a.p_adjusted - b.p_adjusted || gap(b) - gap(a))
    const top = ofWhole ?? order[0]!
    return { top, beside: order.find((one) => isApart(one, top)), segments: together.length }
  })
  return surest
    .toSorted((a, b) => a.top.p_adjusted - b.top.p_adjusted || gap(b.top) - gap(a.top))
    .slice(0, MOST_EVENTS)
    .map(({ top, beside, segments }): Event => {
      const point = {
        value: top.value ?? 0,
        expected: top.expected ?? 0,
        low: top.low ?? 0,
        high: top.high ?? 0,
      }
      const explained = explain(scanned, options, { ...top, point, q: top.p_adjusted }, usual, context)
      const also = beside ? ` ${alsoInWords(beside, context)}` : ''
      return { ...top, segments, ...explained, says: explained.says + also }
    })
}

/** Tells whether the two share no row, because they fix different values of one column. */
function isApart({ where }: Finding, top: Finding): boolean {
  return Object.entries(where).some(([name, value]) => name in top.where && top.where[name] !== value)
}

function doubtsOf(tests: number, left: number): Doubt[] {
  const doubts: Doubt[] = []
  if (tests > 1)
    doubts.push(
      doubt(
        'many_tests',
        `${count(tests, 'series', 'series')} are tested together, and their certainty allows for that.`,
      ),
    )
  if (left > 0)
    doubts.push(
      doubt(
        'values_combined',
        `${count(left, 'segment')} ${left === 1 ? 'is' : 'are'} too small or too rare to be scanned alone (something in half of the times, the ${MOST_SEGMENTS} largest).`,
      ),
    )
  return doubts
}

/** Returns the causes that fell to nothing because no row came. Their rows may be missing. */
function silent(
  { whole, leaf, step, codes, rows }: Scanned,
  events: readonly Event[],
  by: readonly string[],
  { meanings }: MethodContext,
): Doubt[] {
  const labels = (column: string): string => measureOf(meanings, column).label
  const gone = events.flatMap(({ causes, step: at }) =>
    causes.filter(({ after }) => after === 0).map((cause) => ({ cause, at })),
  )
  return gone.slice(0, MOST_SILENT).flatMap(({ cause, at }) => {
    const wanted = Object.entries(cause.where).map(([name, value]) => {
      const attribute = by.indexOf(name)
      return { attribute, code: rows.names[attribute]!.indexOf(value) }
    })
    const seen = leaf.some(
      (of, row) => step[row] === at && wanted.every(({ attribute, code }) => codes[attribute]![of] === code),
    )
    if (seen) return []
    const segment = opening(whereInWords(cause, labels))
    const when = atTime(whole.grid.times[at]!, whole.grid)
    return [doubt('days_missing', `${segment} has no row ${when}: nothing came, or its rows are missing.`)]
  })
}

const withoutNumber = ({ left }: Scanned): Doubt[] => leftOut(left, 'without a time or a number')

function nothing(scanned: Scanned, stop: Doubt): Outcome {
  const { whole, n } = scanned
  const doubts = [...whole.doubts, ...withoutNumber(scanned)]
  const told = stopped(`${count(whole.series.values.length, 'value')}.`, stop, doubts)
  return { ...told, n, method: METHOD, findings: [], events: [], scanned: 0, diagnosis: whole.diagnosis }
}
