/** Makes commands that call the service: show, list, page and each. */
import type { Client, Page } from '@assay/client'
import type { Call, Command } from './command.ts'
import { type Connection, withClient } from './connect.ts'
import { EXIT } from './exit.ts'
import { JSON_OPTION } from './options.ts'
import { type Cell, out, printJson, say, table } from './print.ts'

type Shape = Pick<Command, 'name' | 'summary'> &
  Partial<Pick<Command, 'operands' | 'details' | 'options' | 'listens'>>

/** Makes a command that runs with a client. It exits with 0 if `run` returns no exit code. */
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

/** Makes a command that prints what `get` resolves with: as JSON with --json, otherwise as the text of `show`. */
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

/** Makes a command that prints what `list` resolves with as a table. */
export function listCommand<T>(
  shape: Shape,
  header: string[],
  list: (client: Client, call: Call) => Promise<T[]>,
  row: (item: T) => Cell[],
): Command {
  return showCommand(shape, list, (items) => table(header, items.map(row)))
}

/** Makes a command that prints one page as a table, and the cursor of the next page on stderr. */
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

/** Makes a command that calls `act` with each operand and prints nothing. */
export function eachCommand(
  shape: Shape,
  act: (client: Client, id: string, call: Call) => Promise<unknown>,
): Command {
  return clientCommand({ operands: 'ID...', ...shape }, async (client, call) => {
    for (const id of call.operands) await act(client, id, call)
  })
}

/** Reads every page of a list. */
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
