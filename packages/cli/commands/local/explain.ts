/** assay explain: shows which statements of a template run where, without running it. */

import { systemClock } from '@assay/model/clock'
import type { Explained, ExplainedBlock, ExplainedSource } from '@assay/model/explained'
import { resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { JSON_OPTION, readerOption, texts } from '../../options.ts'
import { counted, out, printJson, say } from '../../print.ts'
import { fileOf, load, variablesOf } from './run-here.ts'

const indented = (text: string): string => text.replaceAll(/^/gm, '    ')

/** Words an amount such as "1,204 rows, about 48 kB". */
function amount({ rows, bytes }: { rows: number; bytes: number }, about = ''): string {
  const [size, unit] =
    bytes < 10_000 ? [bytes, 'bytes'] : bytes < 1e7 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB']
  const many = rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`
  return `${many}, ${about}${Math.round(size).toLocaleString('en')} ${unit}`
}

function daysText({ kept, reads, doubt }: NonNullable<ExplainedSource['days']>): string[] {
  return [
    `  ${counted(kept, 'kept day')}; a run reads`,
    ...reads.map(({ from, until, because }) => {
      const days = until === null ? `from ${from}` : `${from} to before ${until}`
      return `  - ${days}: ${because}`
    }),
    ...(doubt === null ? [] : [`  doubt: ${doubt}`]),
  ]
}

function sourceText({
  name,
  place,
  connection,
  kind,
  sql,
  because,
  rows,
  bytes,
  refused,
  days,
}: ExplainedSource): string {
  const over = connection === null ? 'files' : `connection ${connection}, ${kind}`
  const where =
    place === 'database'
      ? 'its rows stay in the database'
      : connection === null
        ? 'read here'
        : rows === null
          ? 'its rows move here'
          : `${amount({ rows, bytes: bytes! }, 'about ')} move here`
  return [
    `source ${name} (${over}): ${where}`,
    ...(because === null ? [] : [`  ${because}`]),
    ...(days === null ? [] : daysText(days)),
    ...(sql === null ? [] : [indented(sql)]),
    ...(refused === null ? [] : [`  refused: ${refused}`]),
  ].join('\n')
}

function blockText({ name, method, place, reads, statements, because }: ExplainedBlock): string {
  const what = method === null ? `sql ${name}` : `analysis ${name} (${method})`
  const where =
    place === 'database'
      ? `in the database, by ${counted(statements.length, 'statement')}`
      : `here, over ${reads.join(', ') || 'nothing'}`
  return [
    `${what}: ${where}`,
    ...statements.flatMap((one) => [indented(one.sql), `  answers over the sample: ${amount(one)}`]),
    ...(because === null ? [] : [`  ${because}`]),
  ].join('\n')
}

function explainedText({ sample_rows, sources, blocks }: Explained): string {
  const parts = [...sources.map(sourceText), ...blocks.map(blockText)]
  if (blocks.some(({ statements }) => statements.length > 0))
    parts.push(
      `A sample has at most ${sample_rows.toLocaleString('en')} rows. A number in a statement that comes from an earlier answer is that of the sample.`,
    )
  return `${parts.join('\n\n')}\n`
}

export const EXPLAIN: Command = {
  name: 'explain',
  operands: 'FILE|TEMPLATE',
  summary: 'Show what a run would do where: the SQL of databases, and the rows and bytes that would move',
  details:
    'Databases count the rows that would move, and give a sample of those that stay. Nothing else is read.\n' +
    'Ends with 1 where a run would be refused, because more rows than limits.rows of a connection would move.',
  options: {
    var: texts('NAME=VALUE', 'A variable; repeat it for more'),
    reader: texts('NAME=VALUE', 'An attribute of the reader of a personal template; commas divide a list'),
    json: JSON_OPTION,
  },
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const { silentLog } = await import('@assay/service/runtime/log')
    const { withPool } = await import('../../local-pool.ts')
    const found = await load(await fileOf(call.operands[0]!, config), config)
    const variables = await variablesOf(found, call)
    const { localConnections, localRoots } = await import('../../local-template.ts')
    const task = {
      kind: 'explain' as const,
      template: found.source,
      variables,
      started_at: new Date(systemClock.now()).toISOString(),
      reader: readerOption(call),
      roots: await localRoots(config),
    }
    const connections = await localConnections(config, call.environment, found.source)
    const result = await withPool(config, silentLog, (pool) =>
      pool.explain(task, { workspace_id: 'command line', signal: call.signal, connections }),
    )
    if (result.status === 'failed')
      throw new ExitError(EXIT.failed, `${result.error.code}: ${result.error.detail}`)
    const { explained } = result
    if (call.on('json')) printJson(explained)
    else out(explainedText(explained))
    const refused = explained.sources.filter((source) => source.refused !== null)
    if (refused.length === 0) return EXIT.ok
    say(`A run would be refused: ${refused.map(({ name }) => name).join(', ')}.`)
    return EXIT.failed
  },
}
