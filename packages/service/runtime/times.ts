/**
 * A histogram whose series are found once and then counted into: prom-client's own validates, hashes and looks up the labels
 * of each observation, which for a request costs as much as finding its route.
 */
import type { Registry } from 'prom-client'

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName: string
}

/** Counts one time, in seconds. */
export type Observe = (seconds: number) => void

export interface Times<Label extends string> {
  /** To be asked for once for each set of labels. */
  series(labels: Record<Label, string | number>): Observe
}

interface Shape {
  name: string
  help: string
  /** Upper bounds in seconds, rising. */
  buckets: readonly number[]
  registers: Registry[]
}

interface Series {
  labels: Record<string, string | number>
  /** By bucket, not added up; the last is of what is above all bounds. */
  counts: number[]
  sum: number
}

function valuesOf({ name, buckets }: Shape, { labels, counts, sum }: Series): Value[] {
  let count = 0
  const bounds = [...buckets, '+Inf'].map((le, index) => {
    count += counts[index]!
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
  })
  return [
    ...bounds,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}

export function createTimes<Label extends string>(shape: Shape): Times<Label> {
  const { name, help, buckets, registers } = shape
  const all: Series[] = []
  const metric = {
    name,
    get: () =>
      Promise.resolve({
        name,
        help,
        type: 'histogram',
        aggregator: 'sum',
        values: all.filter(({ counts }) => counts.some(Boolean)).flatMap((series) => valuesOf(shape, series)),
      }),
    reset() {
      for (const series of all) {
        series.counts.fill(0)
        series.sum = 0
      }
    },
  }
  for (const registry of registers)
    registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0])
  return {
    series(labels) {
      const series: Series = { labels, counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }
      all.push(series)
      const { counts } = series
      return (seconds) => {
        let at = 0
        while (at < buckets.length && seconds > buckets[at]!) at += 1
        counts[at]! += 1
        series.sum += seconds
      }
    },
  }
}
