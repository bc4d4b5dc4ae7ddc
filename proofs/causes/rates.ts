/**
 * Counts how often a scan of a ratio (`anomalies` with a list `by`) reports an event. The tables hold orders per visit
 * of 4 countries and 3 channels by day, few on Sundays, each number of orders drawn by Poisson's law. The rates of a day
 * may vary together, and each rate by itself. Shocks are normal, have the tails of a t with 3 degrees of freedom, or
 * are persistent (autoregressive, 0.6).
 */
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'
import { normal, poisson, type Random, randomFrom, student3 } from '../calibration/processes.ts'

export interface Rates {
  /** The visits as a multiple of those of a table with 120 orders a day of the combination that falls. */
  visits: number
  /** The standard deviation of the shock that all rates of a day share, as a share of the rate. */
  day: number
  /** The standard deviation of each rate's own shock, as a share of the rate. */
  shock: number
  law: 'normal' | 't3' | 'ar'
}

const SHOCKS: Rates = { visits: 0.1, day: 0.1, shock: 0.17, law: 'normal' }

export const KINDS: Record<string, Rates> = {
  'Poisson counts': { ...SHOCKS, visits: 1, day: 0, shock: 0 },
  'Poisson counts, a tenth of the visits': { ...SHOCKS, day: 0, shock: 0 },
  'normal shocks': SHOCKS,
  't shocks, 3 degrees': { ...SHOCKS, law: 't3' },
  't shocks, twice as large': { ...SHOCKS, shock: 0.35, law: 't3' },
  't shocks within chance': { visits: 1, day: 0, shock: 0.06, law: 't3' },
  'AR 0.6 shocks': { ...SHOCKS, law: 'ar' },
}

const DAYS = 90
const FALL_ON = 60
const COUNTRIES = [
  { country: 'DE', size: 2000, times: 1 },
  { country: 'US', size: 4500, times: 0.7 },
  { country: 'FR', size: 1000, times: 1 },
  { country: 'IT', size: 300, times: 1.5 },
]
const CHANNELS = [
  { channel: 'paid', share: 1.5, times: 1 },
  { channel: 'free', share: 1, times: 1 },
  { channel: 'mail', share: 0.5, times: 2 },
]
const RATE = 0.04
const dayAt = (at: number): Date => new Date(Date.UTC(2026, 0, 1 + at))

/** Returns a generator of the shocks of one rate, with a standard deviation of 1. */
function shocks(law: Rates['law'], random: Random): () => number {
  let state = normal(random)
  if (law === 'normal') return () => normal(random)
  if (law === 't3') return () => student3(random) / Math.sqrt(3)
  return () => (state = 0.6 * state + 0.8 * normal(random))
}

/**
 * Makes a table with a row for each day and combination. `sd`: the standard deviations by which DE's paid rate falls on
 * one day.
 */
function ratesTable({ visits, day, shock, law }: Rates, sd: number, random: Random) {
  const table = {
    day: [] as string[],
    country: [] as string[],
    channel: [] as string[],
    visits: [] as number[],
    orders: [] as number[],
  }
  const parts = COUNTRIES.flatMap((country) =>
    CHANNELS.map((channel) => ({ ...country, ...channel, rate: RATE * country.times * channel.times })),
  ).map((part) => ({ ...part, own: shocks(law, random) }))
  for (let at = 0; at < DAYS; at++) {
    const common = 1 + day * normal(random)
    const level = dayAt(at).getUTCDay() === 0 ? 0.2 : 1
    for (const [index, { country, channel, size, share, rate, own }] of parts.entries()) {
      const n = Math.round(size * share * visits * level * (0.9 + 0.2 * random()))
      const usual = n * rate
      const fall = at === FALL_ON && index === 0 ? sd * Math.sqrt(1 / usual + shock ** 2) : 0
      const mean = usual * Math.max(0, common * (1 + shock * own() - fall))
      table.day.push(dayAt(at).toISOString().slice(0, 10))
      table.country.push(country)
      table.channel.push(channel)
      table.visits.push(n)
      table.orders.push(Math.min(n, poisson(random, Math.min(mean, n))))
    }
  }
  return table
}

const ASKED = { time: 'day', numerator: 'orders', denominator: 'visits', by: ['country', 'channel'] }

/**
 * Counts, among `tables` tables from `first` on, those with an event, and those with one that names the part that fell
 * on its day.
 */
export async function eventsOf(
  asked: Rates,
  sd: number,
  tables: number,
  seed: number,
  first = 0,
): Promise<{ any: number; found: number }> {
  let [any, found] = [0, 0]
  const date = dayAt(FALL_ON).toISOString().slice(0, 10)
  const isPart = (where: Record<string, string>): boolean =>
    where.country === 'DE' && where.channel === 'paid'
  for (let index = first; index < first + tables; index++) {
    const columns = ratesTable(asked, sd, randomFrom(seed * 100_003 + index))
    const table = await columnsOf(columns, { day: 'DATE' })
    const outcome = await outcomeOf(METHODS.anomalies!, table, ASKED, '2027-01-01T00:00:00Z')
    type Named = { where: Record<string, string> }
    const events = outcome.events as (Named & { time: string; causes: Named[] })[]
    any += events.length > 0 ? 1 : 0
    const fell = events.filter(({ time }) => time === date)
    found += fell.some(({ where, causes }) => [{ where }, ...causes].some((one) => isPart(one.where))) ? 1 : 0
  }
  return { any, found }
}

const FALLS = [3, 6]

/**
 * Returns a row for each kind (falls over a third of the tables), and the largest share of tables in which an event is
 * reported though none was planted.
 */
export async function scanTable(
  tables: number,
  seed: number,
  first: number,
): Promise<{ rows: string[]; most: number }> {
  const rows: string[] = []
  let most = 0
  const some = Math.ceil(tables / 3)
  const shown = (of: number, all: number): string => ((100 * of) / all).toFixed(1)
  for (const [name, kind] of tables > 0 ? Object.entries(KINDS) : []) {
    const { any } = await eventsOf(kind, 0, tables, seed, first)
    most = Math.max(most, any / tables)
    const found: string[] = []
    for (const sd of FALLS)
      found.push(shown((await eventsOf(kind, sd, some, seed, Math.ceil(first / 3))).found, some))
    rows.push(`| ${name} | ${[shown(any, tables), ...found].join(' | ')} |`)
  }
  return { rows, most }
}
