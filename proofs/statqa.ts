/**
 * Counts for how many questions of the benchmark mini-StatQA an admissible method answers here, and whether with the
 * recorded figures. Each question names its columns and the methods that fit. Each method runs on the benchmark's own
 * table (proofs/statqa/ways.ts). `--folder PATH`: a copy of github.com/HKUSTDial/StatQA; its texts stay there.
 * `--write yes` keeps the counts, which docs/tests.md shows after `npm run gen -- docs/tests.md`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { METHODS } from '../packages/engine/methods/catalog.ts'
import { outcomeOf, relation } from '../packages/engine/methods/relation-fixture.ts'
import type { Proof } from './main.ts'
import { MEASURED, type Measured } from './statqa/page.ts'
import { type Columns, type Figures, WAYS, type Way } from './statqa/ways.ts'

interface Question {
  dataset: string
  columns: Columns
  /** The methods that fit, each with the result that the benchmark computed. */
  methods: { name: string; recorded: string }[]
}

/** The counts of one method over the benchmark. */
interface Tally {
  asked: number
  answered: number
  compared: number
  agreed: number
  /** The first questions that were not answered, or whose result differs. */
  examples: string[]
}

const LEAST_SHARE = 0.9
const TABLES = 'Data/Processed Dataset'
const QUESTIONS = 'Data/Integrated Dataset/Balanced Benchmark/mini-StatQA.json'
/** The texts that the benchmark's reader of tables treats as missing. */
const EMPTY = ['', 'NA', 'N/A', 'NaN', 'nan', 'null', 'None']

export const proof: Proof = {
  summary: 'questions of the benchmark StatQA that a method here answers (--folder PATH of a copy)',
  async run({ text, log }) {
    const folder = text('folder', 'StatQA')
    if (!existsSync(path.join(folder, QUESTIONS)))
      return [
        `there is no copy of StatQA in ${folder}: clone github.com/HKUSTDial/StatQA and name it by --folder`,
      ]
    const questions = readQuestions(folder)
    const here = questions.filter(({ dataset }) => existsSync(tableOf(folder, dataset)))
    log(`${questions.length} questions, ${here.length} of them over tables that the copy holds`)
    const tallies = new Map<string, Tally>()
    let admissible = 0
    for (const question of here) {
      const answers = []
      for (const asked of question.methods) answers.push(await tell(folder, question, asked, tallies))
      if (answers.some(Boolean)) admissible++
    }
    for (const [name, tally] of [...tallies].toSorted(([a], [b]) => a.localeCompare(b)))
      report(name, tally, log)
    const share = admissible / here.length
    log(
      `an admissible method answers ${admissible} of ${here.length} questions, ${(100 * share).toFixed(1)} %`,
    )
    if (text('write', '') === 'yes') {
      const methods = Object.fromEntries(
        [...tallies].map(([name, { asked, answered, compared, agreed }]) => [
          name,
          { asked, answered, compared, agreed },
        ]),
      )
      const measured: Measured = { questions: questions.length, here: here.length, admissible, methods }
      writeFileSync(MEASURED, `${JSON.stringify(measured, null, 2)}\n`)
    }
    return [
      ...(share < LEAST_SHARE ? [`only ${(100 * share).toFixed(1)} % of the questions are answered`] : []),
      ...wrongCounts(questions),
    ]
  },
}

const tableOf = (folder: string, dataset: string): string => path.join(folder, TABLES, `${dataset}.csv`)

function readQuestions(folder: string): Question[] {
  const rows = JSON.parse(readFileSync(path.join(folder, QUESTIONS), 'utf8')) as Record<string, string>[]
  return rows.map((row) => {
    const columns = JSON.parse(row.relevant_column!) as {
      column_header: string
      is_strata: boolean
      is_control: boolean
    }[]
    const names = (keep: (one: (typeof columns)[number]) => boolean): string[] =>
      // Headings are trimmed as the reader of CSV does.
      columns.filter(keep).map(({ column_header }) => column_header.trim())
    const results = JSON.parse(row.results!) as { method: string; result: string | number }[]
    return {
      dataset: row.dataset!,
      columns: {
        plain: names(({ is_strata, is_control }) => !is_strata && !is_control),
        strata: names(({ is_strata }) => is_strata),
        controls: names(({ is_control }) => is_control),
      },
      methods: results.map(({ method, result }) => ({ name: method, recorded: String(result) })),
    }
  })
}

/** Runs one method of a question. Tells whether it answers. */
async function tell(
  folder: string,
  { dataset, columns }: Question,
  { name, recorded }: Question['methods'][number],
  tallies: Map<string, Tally>,
): Promise<boolean> {
  const tally = tallies.get(name) ?? { asked: 0, answered: 0, compared: 0, agreed: 0, examples: [] }
  tallies.set(name, tally)
  tally.asked++
  const where = `${dataset}: ${Object.values(columns).flat().join(', ')}`
  const way = WAYS[name]
  if (!way) {
    tally.examples.push(`${where}: no method`)
    return false
  }
  const outcome = await outcomeOn(tableOf(folder, dataset), way, columns)
  if (
    typeof outcome === 'string' ||
    way.answer(outcome).some((value) => value === null || value === undefined)
  ) {
    tally.examples.push(`${where}: ${typeof outcome === 'string' ? outcome : String(outcome.summary)}`)
    return false
  }
  tally.answered++
  const ours = way.compared?.(outcome) ?? {}
  if (Object.keys(ours).length === 0) return true
  tally.compared++
  const theirs = figuresOf(recorded)
  const apart = Object.entries(ours).filter(
    ([key, value]) => !alike(value, key in theirs ? theirs[key] : belowOf(theirs)),
  )
  if (apart.length === 0) tally.agreed++
  else
    tally.examples.push(
      `${where}: ${apart.map(([key, value]) => `${key} ${String(value)}`).join(', ')}, there ${recorded}`,
    )
  return true
}

async function outcomeOn(file: string, way: Way, columns: Columns): Promise<Figures | string> {
  const { sql, options } = way.ask(columns)
  const empty = EMPTY.map((one) => `'${one}'`).join(', ')
  const data = `read_csv('${file.replaceAll("'", "''")}', header = true, sample_size = -1, nullstr = [${empty}])`
  try {
    const table = await relation(`with data as (select * from ${data}) ${sql}`)
    return await outcomeOf(METHODS[way.method]!, table, options)
  } catch (error) {
    return (error as Error).message
  }
}

/** Returns the figures of a recorded result by name. The record is JSON, Python's own writing, or a bare number or word. */
function figuresOf(recorded: string): Figures {
  const plain = recorded.replaceAll("'", '"').replace(/^"(\{.*\})"$/u, '$1')
  for (const one of [recorded, plain])
    try {
      const found: unknown = JSON.parse(one)
      if (typeof found === 'string') return figuresOf(found)
      if (typeof found !== 'object' || found === null) return { conclusion: found }
      const [only] = Object.values(found)
      return typeof only === 'string' && only.startsWith('{') ? figuresOf(only) : (found as Figures)
    } catch {}
  return { conclusion: recorded }
}

/** Tells whether the recorded p is below 0.05. This serves tests whose tables have other limits. */
const belowOf = (theirs: Figures): boolean => Number(theirs['p value']) < 0.05

/** Tells whether two values are equal to the digits that the benchmark prints: five decimals. */
function alike(ours: unknown, theirs: unknown): boolean {
  if (typeof ours === 'boolean') return ours === theirs
  const [a, b] = [Number(ours), Number(theirs)]
  if (Number.isNaN(a) || Number.isNaN(b)) return String(ours) === String(theirs)
  return Math.abs(a - b) <= 1.1e-5 + 1e-6 * Math.abs(b)
}

function report(
  name: string,
  { asked, answered, compared, agreed, examples }: Tally,
  log: (line: string) => void,
): void {
  log(
    `${name}: ${answered} of ${asked} answered${compared > 0 ? `, ${agreed} of ${compared} with the recorded figures` : ''}`,
  )
  for (const example of examples.slice(0, 3)) log(`    ${example}`)
}

/** Compares the counts of the guide with those of the benchmark. Returns the differences. */
function wrongCounts(questions: readonly Question[]): string[] {
  const counts = new Map<string, number>()
  for (const { methods } of questions)
    for (const { name } of methods) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.entries(WAYS)
    .filter(([name, { questions: said }]) => counts.get(name) !== said)
    .map(
      ([name, { questions: said }]) =>
        `${name} is asked ${counts.get(name) ?? 0} times, and the guide says ${said}`,
    )
}
