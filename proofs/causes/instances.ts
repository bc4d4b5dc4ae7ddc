/**
 * Instances with known causes, made after the description of the sets S and L in Kalander, "RiskLoc: Localization of
 * Multi-dimensional Root Causes by Weighted Risk" (arXiv 2205.10004, section 5.1) and its published settings. Values
 * are Weibull and some are zero. The expectation varies in proportion. Half of the leaves have expected and real
 * swapped, so that neither side is noisier. A cause reduces each of its leaves by a share. None of the numbers here
 * comes from that program.
 */
import type { Leaves } from '../../packages/engine/causes/leaves.ts'
import { normal, type Random } from '../calibration/processes.ts'

export interface Setting {
  sizes: number[]
  zeros: [number, number]
  noise: [number, number]
  severity: [number, number]
  deviation: [number, number]
  causes: [number, number]
  elements: [number, number]
  /** Whether every cause fixes all attributes. */
  deepest: boolean
}

export const SETTINGS = {
  S: {
    sizes: [10, 12, 10, 8, 5],
    zeros: [0, 0.25],
    noise: [0, 0.25],
    severity: [0.2, 1],
    deviation: [0, 0.1],
    causes: [1, 3],
    elements: [1, 3],
    deepest: false,
  },
  L: {
    sizes: [10, 24, 10, 15],
    zeros: [0, 0.25],
    noise: [0, 0.1],
    severity: [0.5, 1],
    deviation: [0, 0],
    causes: [1, 5],
    elements: [1, 1],
    deepest: true,
  },
} satisfies Record<string, Setting>

/** The code that a cause fixes, for each attribute; -1 if it fixes none. */
export type Where = number[]

export interface Instance {
  leaves: Leaves
  truth: Where[]
}

const between = (random: Random, [least, most]: [number, number]): number => least + random() * (most - least)
const whole = (random: Random, [least, most]: [number, number]): number =>
  least + Math.floor(random() * (most - least + 1))

/** Makes an instance. With `planted: false` nothing happened in it. */
export function instanceOf(setting: Setting, random: Random, planted = true): Instance {
  const { sizes } = setting
  const n = sizes.reduce((product, size) => product * size, 1)
  const codes = sizes.map((size, attribute) => {
    const below = sizes.slice(attribute + 1).reduce((product, other) => product * other, 1)
    return Int32Array.from({ length: n }, (_, leaf) => Math.floor(leaf / below) % size)
  })
  const zeros = between(random, setting.zeros)
  const noise = between(random, setting.noise)
  const shape = between(random, [0.5, 1])
  const before = new Float64Array(n)
  const after = new Float64Array(n)
  for (let leaf = 0; leaf < n; leaf++) {
    const weibull = 100 * (-Math.log(1 - random())) ** (1 / shape)
    const value = random() > zeros ? weibull : 0
    const strayed = value + value * normal(random) * noise
    const swapped = random() < 0.5
    before[leaf] = Math.max(0, swapped ? value : strayed)
    after[leaf] = swapped ? strayed : value
  }
  const leaves: Leaves = { codes, sizes, before, after, variances: null }
  return { leaves, truth: planted ? plant(leaves, setting, noise, random) : [] }
}

function plant(leaves: Leaves, setting: Setting, noise: number, random: Random): Where[] {
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0)
  // The causes move the sum in the direction of its noise.
  const [from, to] =
    sum(leaves.after) > sum(leaves.before) ? [leaves.after, leaves.before] : [leaves.before, leaves.after]
  const properties = Array.from({ length: whole(random, setting.causes) }, () => ({
    level: setting.deepest ? setting.sizes.length : whole(random, [1, setting.sizes.length]),
    elements: whole(random, setting.elements),
    severity: between(random, setting.severity) + noise,
    deviation: between(random, setting.deviation),
  }))
  const planted: Where[][] = []
  for (const { level, elements } of properties) {
    let found: Where[] | null = null
    while (!found) found = place(leaves, level, elements, planted, random)
    planted.push(found)
  }
  for (const [index, elements] of planted.entries()) {
    const { severity, deviation } = properties[index]!
    for (const leaf of from.keys()) {
      if (!elements.some((where) => holds(leaves, where, leaf))) continue
      to[leaf] = Math.max(0, from[leaf]! * (1 - (severity + normal(random) * deviation)))
    }
  }
  return planted.flat()
}

export function holds(leaves: Leaves, where: Where, leaf: number): boolean {
  return where.every((code, attribute) => code < 0 || leaves.codes[attribute]![leaf] === code)
}

/** Draws elements of one cuboid that share no value with earlier ones. Returns null if the draw does not allow that. */
function place(
  leaves: Leaves,
  level: number,
  elements: number,
  planted: readonly Where[][],
  random: Random,
): Where[] | null {
  const { sizes } = leaves
  const attributes = sizes
    .map((_, attribute) => ({ attribute, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, level)
    .map(({ attribute }) => attribute)
  const same = (where: Where): boolean =>
    where.every((code, attribute) => code >= 0 === attributes.includes(attribute))
  if (level < sizes.length && planted.some(([first]) => same(first!))) return null
  const chosen: Where[] = Array.from({ length: elements }, () => sizes.map(() => -1))
  for (const attribute of attributes) {
    const used = new Set(planted.flat().map((where) => where[attribute]!))
    const open = Array.from({ length: sizes[attribute]! }, (_, code) => code).filter(
      (code) => !used.has(code),
    )
    if (open.length === 0) return null
    for (const where of chosen) where[attribute] = open[Math.floor(random() * open.length)]!
  }
  if (new Set(chosen.map(String)).size < elements) return null
  if (level === sizes.length) {
    const empty = chosen.some((where) => {
      const leaf = where.reduce((at, code, attribute) => at * sizes[attribute]! + code, 0)
      return leaves.after[leaf] === 0 || leaves.before[leaf] === 0
    })
    if (empty) return null
  }
  return chosen
}
