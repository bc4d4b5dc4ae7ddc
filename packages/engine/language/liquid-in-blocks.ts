/**
 * Finds Liquid inside a block: `{{ vars.x }}` or `{% if %}` in SQL, in a query or in the options of an analysis. Only
 * prose is Liquid, so inside a block it would stay as written and match nothing. Liquid in strings and comments is a
 * mistake too, so it counts.
 */
import type { Fault } from '@assay/model/template'
import { makeFault, type Position } from './fault.ts'

/** The names that a block may have meant. */
export interface Names {
  variables: ReadonlySet<string>
  /** The names of sources and SQL blocks. */
  relations: ReadonlySet<string>
}

/** The most faults of one block. Further ones say nothing new. */
const MOST = 50
const LIQUID_STARTS = /^-?\s*[\p{L}_]/u
const OUTPUT = /^-?\s*(vars\.)?([\p{L}_][\p{L}\p{N}_]*)((?:\.[a-z]+)*)/u
const TAG_VARIABLE = /\bvars\.([\p{L}_][\p{L}\p{N}_]*)/u
const LONGEST_SHOWN = 60
const LONGEST_READ = 200

/** Finds the faults in one pass: a found end is kept until it is passed. */
export function liquidFaults(
  text: string,
  kind: 'sql' | 'analysis',
  names: Names,
  placeOf: (offset: number) => Position,
): Fault[] {
  const faults: Fault[] = []
  const ends = { '{': endsOf(text, '}}'), '%': endsOf(text, '%}') }
  for (let at = text.indexOf('{'); at >= 0 && faults.length < MOST; at = text.indexOf('{', at + 1)) {
    const mark = text[at + 1]
    const end = mark === '{' || mark === '%' ? ends[mark](at + 2) : -1
    const inside = end < 0 ? '' : text.slice(at + 2, Math.min(end, at + 2 + LONGEST_READ))
    // A struct of DuckDB such as {{'a': 1}: 2} begins with a quote.
    if (!LIQUID_STARTS.test(inside)) continue
    const where = kind === 'sql' ? 'SQL' : 'an analysis block'
    const message = `${shown(text.slice(at, Math.min(end + 2, at + LONGEST_READ)))} is not filled in: Liquid does not run in ${where}.`
    const remedy = mark === '{' ? remedyOfOutput(inside, kind, names) : remedyOfTag(inside, kind, names)
    faults.push(makeFault('liquid_in_block', placeOf(at), message, remedy))
    at = end + 1
  }
  return faults
}

/** Returns a function that gives the first end at an offset or after it; -1 if there is none. The offsets must rise. */
function endsOf(text: string, mark: string): (from: number) => number {
  let found = 0
  return (from) => {
    if (found >= 0 && (found < from || found === 0)) found = text.indexOf(mark, from)
    return found
  }
}

function shown(written: string): string {
  const line = written.replace(/\s+/g, ' ')
  return line.length > LONGEST_SHOWN ? `${line.slice(0, LONGEST_SHOWN - 3)}...` : line
}

function remedyOfOutput(inside: string, kind: 'sql' | 'analysis', names: Names): string {
  const [, vars, name = '', steps = ''] = OUTPUT.exec(inside) ?? []
  if (vars !== undefined || names.variables.has(name)) {
    const value = `$${name}${steps}`
    return kind === 'sql'
      ? `Write ${value}: the value is bound, without quotes around it.`
      : `Write ${value} as the whole option.`
  }
  if (kind === 'sql' && names.relations.has(name))
    return `Write ${name}: a block or a source is read by its name.`
  return kind === 'sql'
    ? 'Write $NAME for a variable, and the name of a source or a block above to read it.'
    : 'Write $NAME for a variable as the whole option.'
}

function remedyOfTag(inside: string, kind: 'sql' | 'analysis', { variables }: Names): string {
  if (kind === 'analysis') return 'Write $NAME for a variable as the whole option.'
  const name = TAG_VARIABLE.exec(inside)?.[1] ?? [...variables][0] ?? 'NAME'
  return `Write [[ and ... $${name} ]] for a part that is left out where the variable is null, or a case expression.`
}
