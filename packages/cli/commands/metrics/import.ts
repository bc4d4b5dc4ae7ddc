/** assay metrics import: metrics of dbt as files of Assay, and a list of what could not be taken over. */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { flag, text } from '../../options.ts'
import { out, say } from '../../print.ts'
import { readText } from '../local/text-file.ts'

async function readDbt(file: string, connection: string, schema: string | null) {
  const { importDbt } = await import('@assay/engine/metrics/import-dbt')
  const source = await readText(file)
  try {
    return importDbt(source, { connection, schema })
  } catch (error) {
    throw new ExitError(EXIT.failed, `${file}: ${(error as Error).message}`)
  }
}

export const IMPORT_METRICS: Command = {
  name: 'metrics import',
  operands: 'FILE...',
  summary: "Take over dbt's semantic models and metrics as files",
  details:
    'Writes DIR/NAME.yaml for each metric and lists what could not be taken over, with the reason. A file that is there\n' +
    'already stays as it is. Name all files of which a metric is made at once.',
  options: {
    connection: text('NAME', "The connection to dbt's database (required)"),
    schema: text('NAME', "The schema of dbt's tables"),
    dir: text('DIR', 'Where to write (default: metrics)'),
    force: flag('Replace files that are there already'),
  },
  async run(call) {
    const connection = call.text('connection')
    if (connection === undefined)
      throw new UsageError('Name the connection over which the tables are read: --connection NAME.')
    const folder = call.text('dir') ?? 'metrics'
    await mkdir(folder, { recursive: true })
    let left = 0
    for (const file of call.operands) {
      const found = await readDbt(file, connection, call.text('schema') ?? null)
      for (const { metric, source } of found.metrics) {
        const to = path.join(folder, `${metric}.yaml`)
        if (existsSync(to) && !call.on('force')) {
          left += 1
          say(`${metric}: left out, because ${to} is there already: --force replaces it.`)
        } else {
          await writeFile(to, source)
          out(`${to}\n`)
        }
      }
      for (const { name, reason } of found.left) say(`${name}: left out: ${reason}.`.replace(/\.\.$/, '.'))
      left += found.left.length
    }
    return left === 0 ? EXIT.ok : EXIT.failed
  },
}
