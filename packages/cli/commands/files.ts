/** assay files ...: the workspace's uploads, which templates name as uploads/PATH. */
import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ClientError } from '@assay/client'
import { type Command, JSON_OPTION } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, ExitError, UsageError } from '../exit.ts'
import { out, printJson, table } from '../print.ts'
import { everything } from './accounts.ts'

async function localFile(file: string): Promise<Blob> {
  try {
    // Looked at beforehand: of a file that is not there openAsBlob says nothing that helps, and of a folder nothing at all.
    if ((await stat(file)).isDirectory()) throw new Error('it is a folder')
    return await openAsBlob(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new ExitError(
      EXIT.notFound,
      `${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}.`,
    )
  }
}

export const FILES: Command[] = [
  {
    name: 'files put',
    operands: 'FILE...',
    summary: 'Upload files, so that templates can read them as uploads/NAME',
    details:
      'CSV, TSV, JSON, NDJSON (each also packed with gzip) and Parquet, by the ending. A file that cannot be read\n' +
      'is refused with the place of the fault, and an earlier one of the same name stays.',
    options: {
      json: JSON_OPTION,
      as: { type: 'string', value: 'PATH', doc: "Where it is to be (default: the file's own name)" },
      into: { type: 'string', value: 'FOLDER', doc: 'The folder for all of them' },
      new: { type: 'boolean', doc: 'Refuse to replace a file' },
    },
    run: (call) =>
      withClient(call, async (client) => {
        const [as, into] = [call.text('as'), call.text('into')]
        if (as !== undefined && (call.operands.length > 1 || into !== undefined))
          throw new UsageError('--as names one file: give one, without --into.')
        for (const file of call.operands) {
          const name = as ?? [into?.replace(/\/+$/, ''), path.basename(file)].filter(Boolean).join('/')
          const content = await localFile(file)
          const put = await client.files
            .put(name, content, { ifNew: call.on('new') })
            .catch((error: unknown) => {
              if (error instanceof ClientError)
                throw new ClientError(
                  `${file}: ${error.message}`,
                  error.status,
                  error.code,
                  error.problem,
                  error,
                )
              throw error
            })
          if (call.on('json')) printJson(put)
          else out(`${put.file}\n`)
        }
        return EXIT.ok
      }),
  },
  {
    name: 'files list',
    operands: '[PREFIX]',
    summary: 'List the uploads',
    options: { json: JSON_OPTION },
    run: (call) =>
      withClient(call, async (client) => {
        const [prefix] = call.operands
        const list = await everything((page) => client.files.list({ ...page, ...(prefix ? { prefix } : {}) }))
        if (call.on('json')) printJson(list)
        else
          out(
            table(
              ['FILE', 'BYTES', 'UPDATED'],
              list.map(({ file, bytes, updated_at }) => [file, bytes, updated_at]),
            ),
          )
        return EXIT.ok
      }),
  },
  {
    name: 'files get',
    operands: 'PATH',
    summary: 'Print an upload as it was sent',
    options: {},
    run: (call) =>
      withClient(call, async (client) => {
        const response = await client.files.read(pathOf(call.operands[0]!))
        if (response.body)
          await pipeline(Readable.fromWeb(response.body as never), process.stdout, { end: false })
        return EXIT.ok
      }),
  },
  {
    name: 'files rm',
    operands: 'PATH...',
    summary: 'Delete uploads',
    options: {},
    run: (call) =>
      withClient(call, async (client) => {
        for (const file of call.operands) await client.files.delete(pathOf(file))
        return EXIT.ok
      }),
  },
]

/** As a template names it, or as it was put. */
function pathOf(given: string): string {
  return given.replace(/^uploads\//, '')
}
