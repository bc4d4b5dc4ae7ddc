/**
 * Compares the findings of a run with the expectations of a test. Each failure is a sentence with what was expected and
 * what was found.
 */
import { type Cell, type Findings, GRADES, type Outcome, type Table } from '@assay/model/insight'
import { suggest } from '../values/near.ts'
import { type Expected, regex, type Wanted } from './definition.ts'

/** The share by which two equal numbers may differ. */
const SAME = 1e-9

/**
 * Returns the failures. `markdown`: as a reader sees it, without the lineage. `golden`: the text of the file that
 * `expect.markdown` names.
 */
export function judge(
  expect: Expected,
  findings: Findings,
  { markdown, golden }: { markdown: string; golden: string | null },
): string[] {
  const failures: string[] = []
  const found = new Found(findings)
  const check = (what: string, pattern: string, text: string): void => {
    if (!regex(pattern)!.test(text))
      failures.push(`${what} does not match ${JSON.stringify(pattern)}: ${JSON.stringify(short(text))}.`)
  }
  if (expect.title !== undefined) check('The title', expect.title, findings.title)
  if (expect.skipped !== undefined && expect.skipped !== (findings.skipped !== null))
    failures.push(
      expect.skipped
        ? 'deliver_if is true, and false is expected.'
        : 'deliver_if is false, and true is expected.',
    )
  for (const [name, wanted] of Object.entries(expect.facts ?? {}))
    failures.push(...factFailure(findings, name, wanted))
  for (const [path, wanted] of Object.entries(expect.rows ?? {})) {
    const count = found.count(path)
    if (typeof count === 'string') failures.push(count)
    else if (count !== wanted) failures.push(`${path} has ${count} rows, and ${wanted} are expected.`)
  }
  for (const [path, wanted] of Object.entries(expect.values ?? {})) {
    const value = found.value(path)
    if ('missing' in value) failures.push(value.missing)
    else if (!isSame(value.found, wanted)) failures.push(differs(path, value.found, wanted))
  }
  for (const [name, pattern] of Object.entries(expect.headlines ?? {}))
    check(`The headline of ${name}`, pattern, findings.analyses[name]!.headline)
  for (const [name, grade] of Object.entries(expect.grades ?? {})) {
    const is = findings.analyses[name]!.grade
    if (is !== grade)
      failures.push(`The grade of ${name} is ${is}, and ${grade} is expected. (${GRADES.join(', ')})`)
  }
  for (const [name, codes] of Object.entries(expect.codes ?? {})) {
    const is = codesOf(findings.analyses[name]!)
    if (is.join() !== [...new Set(codes)].toSorted().join())
      failures.push(`The codes of ${name} are [${is.join(', ')}], and [${codes.join(', ')}] are expected.`)
  }
  for (const pattern of [expect.text ?? []].flat()) {
    if (!regex(pattern)!.test(markdown))
      failures.push(`The Markdown does not match ${JSON.stringify(pattern)}.`)
  }
  if (golden !== null) failures.push(...goldenFailure(expect.markdown!, golden, markdown))
  return failures
}

function codesOf({ blockers, caveats }: Outcome): string[] {
  return [...new Set([...blockers, ...caveats].map(({ code }) => code))].toSorted()
}

function factFailure({ facts }: Findings, name: string, wanted: Wanted): string[] {
  const fact = facts.find((one) => one.name === name)
  if (!fact) {
    const known = facts.map((one) => one.name)
    return [`There is no fact ${JSON.stringify(name)}. ${suggest(name, known, 'The template records none.')}`]
  }
  const { value, text } = fact
  if (isSame(value, wanted) || text === wanted) return []
  return [differs(`The fact ${name}`, value, wanted)]
}

const short = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}...` : text)

function differs(what: string, found: unknown, wanted: Wanted): string {
  const expected =
    typeof wanted === 'object' && wanted !== null
      ? `${wanted.value} within ${wanted.within}`
      : JSON.stringify(wanted)
  return `${what} is ${short(JSON.stringify(found) ?? 'nothing')}, and ${expected} is expected.`
}

function isSame(found: unknown, wanted: Wanted): boolean {
  const near = typeof wanted === 'object' && wanted !== null
  if (!near && typeof wanted !== 'number') return found === wanted
  const value = typeof found === 'string' && found.trim() !== '' ? Number(found) : found
  if (typeof value !== 'number') return false
  if (near) return Math.abs(value - wanted.value) <= wanted.within
  return value === wanted || Math.abs(value - wanted) <= SAME * Math.abs(wanted)
}

/** Returns the first line that differs. */
function goldenFailure(file: string, golden: string, markdown: string): string[] {
  const [wanted, found] = [golden, markdown].map((text) => text.trimEnd().split('\n'))
  const line = Array.from({ length: Math.max(wanted!.length, found!.length) }, (_, index) => index).find(
    (index) => wanted![index] !== found![index],
  )
  if (line === undefined) return []
  const shown = (lines: string[]): string =>
    line < lines.length ? JSON.stringify(short(lines[line]!)) : 'no line'
  return [
    `The Markdown differs from ${file} in its line ${line + 1}: ${shown(found!)} in place of ${shown(wanted!)}. If it is right, --update writes it.`,
  ]
}

class Found {
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** Returns the number of rows, or the reason why there is none. */
  count(path: string): number | string {
    const table = this.#findings.tables[path]
    if (table) return table.total
    const value = this.value(path)
    if ('missing' in value) return value.missing
    return Array.isArray(value.found)
      ? value.found.length
      : `${path} is not a list: name a block, or a list of an analysis.`
  }

  value(path: string): { found: unknown } | { missing: string } {
    const [block, ...steps] = path.split('.')
    const table = this.#findings.tables[block!]
    let value: unknown = table ? rowsOf(table) : this.#findings.analyses[block!]
    let at = block!
    for (const step of steps) {
      const known = Array.isArray(value)
        ? Object.keys(value)
        : typeof value === 'object' && value !== null
          ? Object.keys(value)
          : []
      if (!known.includes(step)) {
        if (Array.isArray(value))
          return { missing: `${at} has ${value.length} rows, and no row ${step} (0 is the first).` }
        return {
          missing: `${at} has no field ${JSON.stringify(step)}. ${suggest(step, known, 'It has no fields.')}`,
        }
      }
      value = (value as Record<string, unknown>)[step]
      at += `.${step}`
    }
    return { found: value }
  }
}

function rowsOf({ columns, rows }: Table): Record<string, Cell>[] {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])))
}
