/** assay metrics import: writes metrics of dbt as files of Assay, and a list of those that could not be imported. */
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { DbtFile, NotRead } from '@assay/engine/metrics/dbt/import'
import { visible } from '@assay/engine/printing/escape'
import type { Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { flag, text } from '../../options.ts'
import { out, say } from '../../print.ts'
import { readText } from '../local/text-file.ts'
import { writeBelow } from '../local/write-file.ts'

/** The file that lists what is not imported, in the folder of the metrics. */
const LIST = 'not-imported.txt'

/** Returns the YAML files of a folder and its subfolders, without those that dbt itself writes. */
async function filesIn(operand: string): Promise<string[]> {
  const found = await stat(operand).catch(() => null)
  if (!found?.isDirectory()) return [operand]
  const entries = await readdir(operand, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name) && entry.name !== 'dbt_project.yml')
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/(^|\/)(target|dbt_packages|\.[^/]+)\//.test(path.relative(operand, file)))
    .toSorted()
}

function listed({ file, name, reason }: NotRead): string {
  return `${file}: ${name}: ${reason}.`.replace(/\.\.$/, '.')
}

async function keepList(folder: string, below: string, lines: string[]): Promise<void> {
  const file = path.join(folder, LIST)
  if (lines.length === 0) await rm(file, { force: true })
  else await writeBelow(below, file, `${visible(lines.join('\n'))}\n`)
}

export const IMPORT_METRICS: Command = {
  name: 'metrics import',
  operands: 'FILE...',
  summary: "Take over dbt's semantic models and metrics as files",
  details:
    'Reads files and folders of one dbt project together. Writes DIR/NAME.yaml for each metric, and lists what could not\n' +
    `be taken over, with the reason, here and in DIR/${LIST}. A file that is there already stays as it is.`,
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
    const named = call.text('dir')
    const folder = named ?? 'metrics'
    // A folder that the user names may be a link; one that lies here may be a stranger's.
    const below = named ?? '.'
    const files: DbtFile[] = []
    for (const operand of call.operands)
      for (const name of await filesIn(operand)) files.push({ name, text: await readText(name) })
    const { importDbt } = await import('@assay/engine/metrics/dbt/import')
    const found = importDbt(files, { connection, schema: call.text('schema') ?? null })
    if (found.metrics.length + found.left.length === 0) {
      for (const one of found.notRead) say(listed(one))
      throw new ExitError(EXIT.failed, 'There are no metrics in these files: dbt keeps them under "metrics".')
    }
    const left = found.left.map(listed)
    for (const { metric, source, file } of found.metrics) {
      const to = path.join(folder, `${metric}.yaml`)
      if (existsSync(to) && !call.on('force'))
        left.push(`${file}: ${metric}: ${to} is there already: --force replaces it.`)
      else {
        await writeBelow(below, to, source)
        out(`${to}\n`)
      }
    }
    const rest = found.notRead.map(listed)
    if (left.length > 0) say(`Metrics that are left out:\n  ${left.join('\n  ')}`)
    if (rest.length > 0) say(`Not read:\n  ${rest.join('\n  ')}`)
    await keepList(folder, below, [...left, ...rest])
    return left.length === 0 ? EXIT.ok : EXIT.failed
  },
}
