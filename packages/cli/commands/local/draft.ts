/** assay draft: writes metrics and a template for a table, decided by its columns. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Asked } from '@assay/engine/drafting/ask'
import type { Draftable, Drafted } from '@assay/engine/drafting/draft'
import type { Pool } from '@assay/engine/run/pool'
import { systemClock } from '@assay/model/clock'
import { KINDS } from '@assay/model/connection-kinds'
import type { Findings } from '@assay/model/insight'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { Call, Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { flag, JSON_OPTION, text } from '../../options.ts'
import { out, printJson, say } from '../../print.ts'
import { writeBelow } from './write-file.ts'

/** The time in milliseconds for one answer of a language model. */
const ANSWER_MS = 60_000

/** Returns the name of a table below the data folder. A table elsewhere is read from its own folder. */
export function tableOf(file: string, config: Config): { name: string; data: string | null } {
  if (file.startsWith('sample/')) return { name: file, data: config.data }
  if (!existsSync(file)) throw new ExitError(EXIT.notFound, `There is no file ${file}.`)
  const below = config.data === null ? '..' : path.relative(config.data, file)
  if (!below.startsWith('..')) return { name: below.split(path.sep).join('/'), data: config.data }
  return { name: path.basename(file), data: path.resolve(path.dirname(file)) }
}

interface Wanted {
  table: Draftable
  data: string | null
}

/** Returns what to draft from: a file, or `CONNECTION.TABLE` if there is no such file. */
async function wantedOf(call: Call, config: Config): Promise<Wanted> {
  const { connectedTable, fileToDraft, readKeys, tableToDraft } = await import('@assay/engine/drafting/draft')
  const [operand] = call.operands as [string]
  const given = call.text('source') ?? ''
  const dialect = readKeys(given)
  if (dialect === null)
    throw new UsageError(
      `--source takes keys of a source, such as "dates: dmy", not ${JSON.stringify(given)}.`,
    )
  const named = connectedTable(operand)
  if (named === null || operand.startsWith('sample/') || existsSync(operand) || config.connections === null) {
    const { name, data } = tableOf(operand, config)
    return { table: fileToDraft(name, dialect), data }
  }
  const { localBook } = await import('../../local-template.ts')
  const book = await localBook(config, call.environment)
  const kind = await book.kindOf(DEFAULT_WORKSPACE, named.connection)
  if (kind === null)
    throw new ExitError(
      EXIT.notFound,
      `There is no file ${operand}, and no connection ${named.connection} in ASSAY_CONNECTIONS.`,
    )
  if (KINDS[kind as keyof typeof KINDS].reads !== 'query')
    throw new UsageError(`${named.connection} holds files: download one, and draft from it.`)
  if (call.text('ask') !== undefined)
    throw new UsageError('--ask takes a FILE: a table of a database is drafted by rules.')
  if (given !== '') throw new UsageError('--source says how a file is read: a table has its types.')
  return { table: tableToDraft(named.connection, kind, named.table), data: config.data }
}

type Roots = Awaited<ReturnType<typeof import('../../local-template.ts').localRoots>>

interface Bench {
  pool: Pool
  roots: Roots
  started_at: string
  signal: AbortSignal
}

/** Returns the faults of a template on this machine, by the checks and by a run in the sandbox. */
async function localFaults(source: string, { pool, roots, started_at, signal }: Bench): Promise<string[]> {
  const { errorSentences } = await import('@assay/engine/drafting/ask')
  const { templateVersion } = await import('@assay/engine/reading/partials')
  const template = { template_id: 'draft', version: templateVersion(source, {}), source, partials: {} }
  const faults = await pool.check({ kind: 'check', template, roots }, { workspace_id: 'command line' })
  const errors = errorSentences(faults)
  if (errors.length > 0) return errors
  const task = { kind: 'run' as const, template, variables: {}, started_at, roots }
  const result = await pool.run(task, { workspace_id: 'command line', signal })
  if (result.status === 'done') return []
  return [result.status === 'failed' ? result.error.detail : 'The run ended without a result.']
}

/** Returns the template that a language model writes, or the reason why the draft by rules stands. */
async function asked(
  call: Call,
  config: Config,
  question: string,
  found: Findings,
  alone: Drafted,
  bench: Bench,
) {
  const { localNarrator } = await import('../../local-pool.ts')
  const { ANSWER_TOKENS, askModel } = await import('@assay/engine/drafting/ask')
  const model = await localNarrator(config)
  if (!model)
    throw new UsageError('--ask needs a language model: set ASSAY_NARRATE_URL and ASSAY_NARRATE_MODEL.')
  const given = { workspace_id: 'command line', signal: call.signal, within_ms: ANSWER_MS }
  return askModel(
    question,
    { found, drafted: alone },
    {
      async ask(one) {
        const answer = await model({ ...one, most_tokens: ANSWER_TOKENS }, given)
        return 'missing' in answer && answer.missing === 'failed' ? null : answer
      },
      faultsOf: (source) => localFaults(source, bench),
    },
  )
}

async function draft(call: Call, config: Config, { table, data }: Wanted) {
  const { createLog } = await import('@assay/service/runtime/log')
  const { withPool } = await import('../../local-pool.ts')
  const { localConnections, localRoots } = await import('../../local-template.ts')
  const { draftFrom, lookingAt } = await import('@assay/engine/drafting/draft')
  const roots = { ...(await localRoots(config)), data }
  const log = createLog({ level: 'error', format: 'text' })
  return withPool(config, log, async (pool) => {
    const started_at = new Date(systemClock.now()).toISOString()
    const template = lookingAt(table)
    const task = { kind: 'run' as const, template, variables: {}, started_at, roots }
    const connections = await localConnections(config, call.environment, template)
    const options = { workspace_id: 'command line', signal: call.signal, connections }
    const result = await pool.run(task, options)
    if (result.status === 'done') {
      const drafted = { ...draftFrom(result.findings, table), asked: null as Asked | null }
      const question = call.text('ask')
      if (question === undefined) return drafted
      const bench = { pool, roots, started_at, signal: call.signal }
      const alone = draftFrom(result.findings, table, true)
      const answer = await asked(call, config, question, result.findings, alone, bench)
      return { ...drafted, template: answer.source ?? drafted.template, asked: answer }
    }
    const why = result.status === 'failed' ? result.error.detail : 'the analysis process ended'
    throw new ExitError(EXIT.failed, `No draft of ${table.called}: ${why}`)
  })
}

export const DRAFT: Command = {
  name: 'draft',
  operands: 'FILE|CONNECTION.TABLE',
  summary: 'Write metrics and a template for a table, by what its columns are',
  details:
    'FILE is a table below --data (ASSAY_DATA), any other file, or sample/NAME. CONNECTION.TABLE is one of a database of\n' +
    'ASSAY_CONNECTIONS, judged by its first 10,000 rows. Writes DIR/NAME.yaml for each metric and NAME.md beside DIR.\n' +
    'Comments say what is assumed. What can be read in two ways is asked, not guessed: answer with --source. With --ask a language\n' +
    'model writes NAME.md; it is told the names of the columns, their ranges and most frequent values. docs/drafts.md.',
  options: {
    'metric-dir': text('DIR', 'Where metrics are written (default: metrics)'),
    source: text('KEYS', 'How the table is read, such as "dates: dmy"'),
    ask: text(
      'TEXT',
      'What the report is to tell: the language model of ASSAY_NARRATE_URL writes the template',
    ),
    force: flag('Replace files that are there already'),
    json: JSON_OPTION,
  },
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const wanted = await wantedOf(call, config)
    const drafted = await draft(call, config, wanted)
    if (call.on('json')) {
      printJson(drafted)
      return drafted.questions.length === 0 ? EXIT.ok : EXIT.failed
    }
    const named = call.text('metric-dir')
    const folder = named ?? 'metrics'
    // A folder that the user names may be a link; one that lies here may be a stranger's.
    const below = (file: string): string => (named === undefined ? '.' : path.dirname(file))
    const template = path.join(path.dirname(folder), `${drafted.name}.md`)
    const files = [
      ...Object.entries(drafted.metrics).map(([name, source]) => [path.join(folder, `${name}.yaml`), source]),
      [template, drafted.template],
    ] as [string, string][]
    const taken = files.find(([file]) => existsSync(file))
    if (taken && !call.on('force'))
      throw new ExitError(EXIT.refused, `${taken[0]} is there already: --force replaces it.`)
    for (const [file, source] of files) {
      await writeBelow(below(file), file, source)
      out(`${file}\n`)
    }
    if (drafted.asked) say(drafted.asked.says)
    const data = wanted.data !== null && wanted.data !== config.data ? ` --data ${wanted.data}` : ''
    say(`Run it:  assay run ${template}${data}`)
    for (const { column, says } of drafted.questions) say(`ASK  ${column}: ${says}`)
    if (drafted.questions.some(({ readings }) => readings.length > 0))
      say('These columns are left out until you answer: --source "KEYS" --force.')
    return drafted.questions.length === 0 ? EXIT.ok : EXIT.failed
  },
}
