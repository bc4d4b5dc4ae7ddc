/**
 * Makes random rows, readers and rules. A rule is written once as a template writes it, and once as a policy of
 * PostgreSQL.
 */
import type { Random } from '../calibration/processes.ts'

/** Texts that a collation, a trim, a fold of case or a careless quote would confuse. */
const TEXTS = [
  'North',
  'north',
  'NORTH',
  'North ',
  ' North',
  'Norte\u0301',
  'Nort\u00e9',
  'Strasse',
  'Stra\u00dfe',
  "O'Hara",
  "' or true --",
  'a\\b',
  'a,b',
  '$reader.region',
  '5',
  '05',
  'true',
  '',
  '\u{1f600}',
]
const NUMBERS = [0, 1, -1, 5, 5.5, 0.1, 1_000_000, 123_456_789_012]

export const COLUMNS = [
  { name: 'region', type: 'text', kind: 'text' },
  { name: 'team', type: 'text', kind: 'text' },
  { name: 'level', type: 'double precision', kind: 'number' },
  { name: 'open', type: 'boolean', kind: 'boolean' },
] as const

type Kind = (typeof COLUMNS)[number]['kind']
export type Row = Record<string, string | number | boolean | null>
export interface Person {
  id: string
  [attribute: string]: string | number | boolean | string[]
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

const valueOf = (random: Random, kind: Kind): string | number | boolean =>
  kind === 'text' ? pick(random, TEXTS) : kind === 'number' ? pick(random, NUMBERS) : random() < 0.5

export function randomRow(random: Random): Row {
  return Object.fromEntries(
    COLUMNS.map(({ name, kind }) => [name, random() < 0.15 ? null : valueOf(random, kind)]),
  )
}

export function randomPerson(random: Random, index: number): Person {
  const texts = (): string[] => Array.from({ length: Math.floor(random() * 5) }, () => pick(random, TEXTS))
  return {
    id: `reader ${index}`,
    text: pick(random, TEXTS),
    texts: texts(),
    others: texts(),
    number: pick(random, NUMBERS),
    boolean: random() < 0.5,
  }
}

type Value = { literal: string | number | boolean } | { attribute: string; list: boolean }

export type Rule =
  | { kind: 'and' | 'or'; left: Rule; right: Rule }
  | { kind: 'not'; of: Rule }
  | { kind: 'null'; column: string; not: boolean }
  | { kind: 'equals'; column: string; of: Kind; not: boolean; value: Value }
  | { kind: 'in'; column: string; of: Kind; not: boolean; values: Value[] }

export function randomRule(random: Random, depth = 0): Rule {
  const chance = random()
  if (depth < 4 && chance < 0.4) {
    const [left, right] = [randomRule(random, depth + 1), randomRule(random, depth + 1)]
    return { kind: chance < 0.2 ? 'and' : 'or', left, right }
  }
  if (depth < 4 && chance < 0.5) return { kind: 'not', of: randomRule(random, depth + 1) }
  const { name: column, kind: of } = pick(random, COLUMNS)
  if (chance < 0.56) return { kind: 'null', column, not: random() < 0.5 }
  const not = random() < 0.3
  if (chance < 0.8) return { kind: 'equals', column, of, not, value: randomValue(random, of, !not) }
  const values = Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomValue(random, of, true))
  return { kind: 'in', column, of, not, values }
}

function randomValue(random: Random, of: Kind, lists: boolean): Value {
  if (random() < 0.35) return { literal: valueOf(random, of) }
  if (of === 'text' && lists && random() < 0.5)
    return { attribute: pick(random, ['texts', 'others']), list: true }
  return { attribute: of, list: false }
}

const quoted = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)

/** Writes a rule as a template does. */
export function asRule(rule: Rule): string {
  const value = (one: Value): string => ('literal' in one ? quoted(one.literal) : `$reader.${one.attribute}`)
  switch (rule.kind) {
    case 'and':
    case 'or':
      return `(${asRule(rule.left)} ${rule.kind} ${asRule(rule.right)})`
    case 'not':
      return `not (${asRule(rule.of)})`
    case 'null':
      return `${rule.column} is ${rule.not ? 'not ' : ''}null`
    case 'equals':
      return `${rule.column} ${rule.not ? '!=' : '='} ${value(rule.value)}`
    case 'in':
      return `${rule.column} ${rule.not ? 'not ' : ''}in (${rule.values.map(value).join(', ')})`
  }
}

const TYPES: Record<Kind, string> = { text: 'text', number: 'double precision', boolean: 'boolean' }

/** Writes a rule as an administrator of PostgreSQL does, with the attributes in the settings of the session. */
export function asPolicy(rule: Rule): string {
  switch (rule.kind) {
    case 'and':
    case 'or':
      return `(${asPolicy(rule.left)} ${rule.kind} ${asPolicy(rule.right)})`
    case 'not':
      return `(not ${asPolicy(rule.of)})`
    case 'null':
      return `(${rule.column} is ${rule.not ? 'not ' : ''}null)`
    case 'equals':
      return `(${rule.not ? 'not ' : ''}${equals(rule.column, rule.of, rule.value)})`
    case 'in':
      return `(${rule.not ? 'not ' : ''}(${rule.values.map((one) => equals(rule.column, rule.of, one)).join(' or ')}))`
  }
}

function equals(column: string, of: Kind, value: Value): string {
  if ('literal' in value) return `(${column} = ${quoted(value.literal)})`
  const setting = `current_setting('reader.${value.attribute}')`
  if (!value.list) return `(${column} = cast(${setting} as ${TYPES[of]}))`
  const list = `array(select jsonb_array_elements_text(cast(${setting} as jsonb)))`
  // A comparison of an empty list with null is unknown, as with any other list.
  return `(case when ${column} is null then null else ${column} = any (${list}) end)`
}
