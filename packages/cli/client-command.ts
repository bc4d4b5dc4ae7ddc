/** Commands that speak to the service, in the shapes that most of them have. */
import type { Client, Page } from '@assay/client'
import type { Call, Command } from './command.ts'
import { type Connection, withClient } from './connect.ts'
import { EXIT } from './exit.ts'
import { JSON_OPTION } from './options.ts'
import { type Cell, out, printJson, say, table } from './print.ts'

type Shape = Pick<Command, 'name' | 'summary'> &
  Partial<Pick<Command, 'operands' | 'details' | 'options' | 'listens'>>

/** Ends with 0 where `run` gives no exit code. */
export function clientCommand(
  shape: Shape,
  run: (client: Client, call: Call, connection: Connection) => Promise<number | void>,
): Command {
  return {
    operands: '',
    options: {},
    ...shape,
    run: (call) =>
      withClient(call, async (client, connection) => (await run(client, call, connection)) ?? EXIT.ok),
  }
}

/** Prints what `get` answers with: as JSON with --json, else as the text that `show` makes of it. */
export function showCommand<T>(
  { options, ...shape }: Shape,
  get: (client: Client, call: Call, connection: Connection) => Promise<T>,
  show: (found: T, call: Call) => string,
): Command {
  return clientCommand(
    { ...shape, options: { json: JSON_OPTION, ...options } },
    async (client, call, connection) => {
      const found = await get(client, call, connection)
      if (call.on('json')) printJson(found)
      else out(show(found, call))
    },
  )
}

/** A table of what `list` answers with. */
export function listCommand<T>(
  shape: Shape,
  header: string[],
  list: (client: Client, call: Call) => Promise<T[]>,
  row: (item: T) => Cell[],
): Command {
  return showCommand(shape, list, (items) => table(header, items.map(row)))
}

/** A table of one page, and the cursor of the next on stderr. */
export function pageCommand<T>(
  shape: Shape,
  header: string[],
  list: (client: Client, call: Call) => Promise<Page<T>>,
  row: (item: T) => Cell[],
): Command {
  return showCommand(shape, list, ({ items, next_cursor }) => {
    if (next_cursor) say(`More: --cursor ${next_cursor}`)
    return table(header, items.map(row))
  })
}

/** Does the same with each id; prints nothing. */
export function eachCommand(
  shape: Shape,
  act: (client: Client, id: string, call: Call) => Promise<unknown>,
): Command {
  return clientCommand({ operands: 'ID...', ...shape }, async (client, call) => {
    for (const id of call.operands) await act(client, id, call)
  })
}

/** Every item of a list that comes in pages. */
export async function allPages<T>(
  list: (query: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<T> = await list({ limit: 200, ...(cursor ? { cursor } : {}) })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}
