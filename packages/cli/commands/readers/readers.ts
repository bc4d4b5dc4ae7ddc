/** assay readers: manages the persons for whom personal insights are made. */
import { ClientError, type ReaderView } from '@assay/client'
import {
  faultText,
  ReaderFileError,
  type ReaderRow,
  readersIn,
  refusedLines,
  typedAttribute,
} from '@assay/model/reader-file'
import { READERS_PUT_MOST } from '@assay/model/reader-limits'
import type { ReaderAttributes } from '@assay/model/readers'
import { allPages, eachCommand, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { pairsOption, text, texts } from '../../options.ts'
import { counted, table } from '../../print.ts'
import { readText } from '../local/text-file.ts'

const ATTRIBUTES_HELP = `A value is a text, unless it is JSON of a number, of true or false, or of a list of texts:
  --attribute region=north --attribute level=3 --attribute 'teams=["sales", "press"]' --attribute 'code="007"'`

function attributesOf(call: Call): ReaderAttributes {
  const pairs = Object.entries(pairsOption(call, 'attribute'))
  return Object.fromEntries(pairs.map(([name, value]) => [name, typedAttribute(value)]))
}

const attributesText = ({ attributes }: ReaderView): string =>
  Object.entries(attributes)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')

function rowsOf(file: string): ReaderRow[] {
  try {
    return readersIn(file)
  } catch (error) {
    throw error instanceof ReaderFileError ? new ExitError(EXIT.refused, error.message) : error
  }
}

/** Returns the service's refusal with the lines of the file. */
function withLines(error: unknown, readers: readonly ReaderRow[]): unknown {
  const faults = refusedLines(error instanceof ClientError ? (error.problem?.errors ?? []) : [], readers)
  return faults.length === 0
    ? error
    : new ExitError(EXIT.refused, `Nothing of these rows was imported.\n${faultText(faults)}`)
}

const rowOf = (reader: ReaderView) => [
  reader.reader_id,
  reader.name,
  reader.email,
  reader.user_id,
  attributesText(reader),
]
const HEADER = ['READER', 'NAME', 'EMAIL', 'USER', 'ATTRIBUTES']

export const READERS = [
  listCommand(
    { name: 'readers list', summary: 'List the readers for whom personal insights are made' },
    HEADER,
    (client) => allPages((page) => client.readers.list(page)),
    rowOf,
  ),
  showCommand(
    { name: 'readers show', operands: 'ID', summary: 'Show a reader' },
    (client, call) => client.readers.get(call.operands[0]!),
    (reader) => table(HEADER, [rowOf(reader)]),
  ),
  showCommand(
    {
      name: 'readers set',
      operands: 'ID',
      summary: 'Make a reader, or replace one: what is not given is taken away',
      details: ATTRIBUTES_HELP,
      options: {
        name: text('TEXT', 'The name that people read (default: the id)'),
        email: text('ADDRESS', 'Where personal insights are sent'),
        user: text('ID', 'The user who is this reader'),
        attribute: texts('NAME=VALUE', 'An attribute that templates read; repeat it for more'),
      },
    },
    (client, call) =>
      client.readers.put(call.operands[0]!, {
        name: call.text('name') ?? call.operands[0]!,
        email: call.text('email') ?? null,
        user_id: call.text('user') ?? null,
        attributes: attributesOf(call),
      }),
    ({ reader_id }) => `${reader_id}\n`,
  ),
  eachCommand(
    { name: 'readers delete', summary: 'Delete readers: their insights stay, for admins alone' },
    (client, id) => client.readers.delete(id),
  ),
  showCommand(
    {
      name: 'readers import',
      operands: 'FILE',
      summary: 'Make or replace the readers of a CSV; others stay',
      details: `Its first line names the columns: reader_id, and name, email and user_id where there are any. Every other column
is an attribute: a text, or what its heading says after a colon (level:number, active:boolean, teams:list, whose texts
";" parts). An empty cell sets no attribute. A fault refuses the ${READERS_PUT_MOST} rows in which it lies; the rows before stay imported.`,
    },
    async (client, call) => {
      const readers = rowsOf(await readText(call.operands[0]!))
      const total = { created: 0, replaced: 0 }
      for (let at = 0; at < readers.length; at += READERS_PUT_MOST) {
        const some = readers.slice(at, at + READERS_PUT_MOST)
        const put = await client.readers
          .putMany({ readers: some.map(({ reader }) => reader) })
          .catch((error: unknown) => {
            throw withLines(error, some)
          })
        total.created += put.created
        total.replaced += put.replaced
      }
      return total
    },
    ({ created, replaced }) => `${counted(created, 'reader')} made, ${replaced} replaced.\n`,
  ),
]
