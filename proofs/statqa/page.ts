/**
 * Writes the part of docs/tests.md about StatQA: its methods, how each is written here, and the result of `npm run
 * proof -- statqa`.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { WAYS, type Way } from './ways.ts'

export const MEASURED = path.join(import.meta.dirname, 'measured.json')

/** The counts that the proof writes. */
export interface Measured {
  questions: number
  /** The questions whose tables were at hand. */
  here: number
  admissible: number
  methods: Record<string, { asked: number; answered: number; compared: number; agreed: number }>
}

const KINDS: Record<string, string> = {
  description: 'How is this column spread?',
  correlation: 'Do two numbers go together?',
  'contingency table': 'Do two categories go together?',
  distribution: 'Does a column follow a distribution, or do two columns have one?',
  variance: 'Do two columns vary alike?',
}

export function statqaSection(): string {
  const measured = JSON.parse(readFileSync(MEASURED, 'utf8')) as Measured
  const share = ((100 * measured.admissible) / measured.here).toFixed(1)
  const lines = [
    `Its smaller set, mini-StatQA, has ${group(measured.questions)} questions and ${Object.keys(WAYS).length} methods of five kinds; all are here. \`npm run proof -- statqa --folder PATH\``,
    `runs every method that a question admits on the benchmark's own table: an admissible one answers ${group(measured.admissible)} of the ${group(measured.here)} questions whose`,
    `tables were at hand (${share} %). "Same figures" counts the answers that agree with those recorded there, to the five decimals it prints.`,
    '',
    '| the question | method there | questions | here | answered | same figures |',
    '|---|---|--:|---|--:|---|',
  ]
  for (const [kind, question] of Object.entries(KINDS))
    for (const [name, way] of Object.entries(WAYS).filter(([, { kind: of }]) => of === kind))
      lines.push(row(question, name, way, measured))
  return lines.join('\n')
}

function row(question: string, name: string, way: Way, { methods }: Measured): string {
  const { asked, answered, compared, agreed } = methods[name] ?? {
    asked: 0,
    answered: 0,
    compared: 0,
    agreed: 0,
  }
  const same = compared > 0 ? `${agreed} of ${compared}` : (way.differs ?? '')
  const shown = way.shown.includes('`') ? way.shown : `\`${way.shown}\``
  return `| ${question} | ${name} | ${way.questions} | \`${way.method}\`, ${shown} | ${answered} of ${asked} | ${same} |`
}

const group = (value: number): string => value.toLocaleString('en-US')
