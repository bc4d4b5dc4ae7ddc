/** assay files ...: manages the workspace's uploads, which templates name as uploads/PATH. */
import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ClientError } from '@assay/client'
import { allPages, clientCommand, eachCommand, listCommand } from '../../client-command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { flag, JSON_OPTION, text } from '../../options.ts'
import { out, printJson } from '../../print.ts'

async function localFile(file: string): Promise<Blob> {
  try {
    // The file is checked first, because openAsBlob gives no useful error for a missing file and none for a folder.
    if ((await stat(file)).isDirectory()) throw new Error('it is a folder')
    return await openAsBlob(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'there is no such file' : message
    throw new ExitError(EXIT.notFound, `${file} cannot be read: ${reason}.`)
  }
}

/** Returns the refusal with the name of the file. */
function about(file: string, error: unknown): unknown {
  if (!(error instanceof ClientError)) return error
  return new ClientError(`${file}: ${error.message}`, error.status, error.code, error.problem, error)
}

/** Returns the path of an upload, given with or without "uploads/". */
const pathOf = (given: string): string => given.replace(/^uploads\//, '')

export const FILES = [
  clientCommand(
    {
      name: 'files put',
      operands: 'FILE...',
      summary: 'Upload files, so that templates can read them as uploads/NAME',
      details:
        'CSV, TSV, JSON, NDJSON (each also packed as .gz or .zst), Parquet, Avro, Arrow IPC, .xlsx and .ods, by the ending. A file that cannot be read\n' +
        'is refused with line and column of the fault, and an earlier one of the same name stays.',
      options: {
        json: JSON_OPTION,
        as: text('PATH', "Where it is to be (default: the file's own name)"),
        into: text('FOLDER', 'The folder for all of them'),
        new: flag('Refuse to replace a file'),
        source: text('KEYS', 'How the files are read, such as "bad_rows: skip"; kept with them'),
      },
    },
    async (client, call) => {
      const [as, into] = [call.text('as'), call.text('into')]
      if (as !== undefined && (call.operands.length > 1 || into !== undefined))
        throw new UsageError('--as names one file: give one, without --into.')
      const source = call.text('source')
      const dialect = source === undefined ? undefined : [source]
      for (const file of call.operands) {
        const name = as ?? [into?.replace(/\/+$/, ''), path.basename(file)].filter(Boolean).join('/')
        const content = await localFile(file)
        const put = await client.files
          .put(name, content, { ifNew: call.on('new'), dialect })
          .catch((error: unknown) => Promise.reject(about(file, error)))
        if (call.on('json')) printJson(put)
        else out(`${put.file}\n`)
      }
    },
  ),
  listCommand(
    { name: 'files list', operands: '[PREFIX]', summary: 'List the uploads' },
    ['FILE', 'BYTES', 'UPDATED'],
    (client, call) => allPages((page) => client.files.list({ ...page, prefix: call.operands[0] })),
    ({ file, bytes, updated_at }) => [file, bytes, updated_at],
  ),
  clientCommand(
    { name: 'files get', operands: 'PATH', summary: 'Print an upload as it was sent' },
    async (client, call) => {
      const { body } = await client.files.read(pathOf(call.operands[0]!))
      if (body) await pipeline(Readable.fromWeb(body as never), process.stdout, { end: false })
    },
  ),
  eachCommand({ name: 'files rm', operands: 'PATH...', summary: 'Delete uploads' }, (client, file) =>
    client.files.delete(pathOf(file)),
  ),
]
