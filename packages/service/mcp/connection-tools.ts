/** Tools over connections: list them, and list the tables of a database. */
import type { Client } from '@assay/client'
import { type ConnectionKind, KINDS } from '@assay/model/connection-kinds'
import { Type } from '@assay/model/schema'
import { refuse, tool } from './tool.ts'

const MOST_TABLES = 500

/** The SQL of each kind that lists the names of the tables that a user sees. */
const LISTS: Partial<Record<ConnectionKind, string>> = {
  postgresql:
    "select table_schema || '.' || table_name as name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') order by 1",
  mysql:
    "select concat(table_schema, '.', table_name) as name from information_schema.tables where table_schema not in ('mysql', 'information_schema', 'performance_schema', 'sys') order by 1",
  clickhouse:
    "select concat(database, '.', name) as name from system.tables where database not in ('system', 'INFORMATION_SCHEMA', 'information_schema') order by 1",
  sqlite:
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by 1",
}

/** Returns the kind of a connection. Throws a refusal if there is no such connection, or if it holds files. */
export async function kindOf(client: Client, name: string): Promise<ConnectionKind> {
  let cursor: string | undefined
  do {
    const page = await client.connections.list({ limit: 200, ...(cursor ? { cursor } : {}) })
    const found = page.items.find((one) => one.name === name)
    if (found && KINDS[found.kind].reads === 'query') return found.kind
    if (found) throw refuse('connection', 'holds files: upload one, and name it as file')
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  throw refuse('connection', 'is not there: assay_connections lists those that are')
}

export const connections = tool({
  name: 'assay_connections',
  title: 'List connections',
  description: 'The databases, web servers and buckets that templates may read over, without their secrets.',
  scope: 'publisher',
  effect: 'reads',
  input: Type.Object({}),
  data: Type.Object({
    connections: Type.Array(
      Type.Object({
        name: Type.String(),
        kind: Type.String(),
        description: Type.Union([Type.String(), Type.Null()]),
        reads: Type.String({
          description: 'query: a database with tables; files: a source names a file of it',
        }),
      }),
    ),
  }),
  async run({ client }) {
    const { items } = await client.connections.list({ limit: 200 })
    return {
      next:
        items.length === 0
          ? 'There are no connections: upload a file with assay_upload.'
          : 'Call assay_connection_tables with the name of a database.',
      data: {
        connections: items.map(({ name, kind, description }) => ({
          name,
          kind,
          description,
          reads: KINDS[kind].reads,
        })),
      },
    }
  },
})

export const connectionTables = tool({
  name: 'assay_connection_tables',
  title: 'List the tables of a database',
  description: 'The names of the tables of a connection, at most 500.',
  scope: 'publisher',
  effect: 'reads',
  outside: true,
  input: Type.Object({ connection: Type.String({ minLength: 1, maxLength: 200 }) }),
  data: Type.Object({ tables: Type.Array(Type.String()) }),
  async run({ client, given: { connection } }) {
    const query = `${LISTS[await kindOf(client, connection)]} limit ${MOST_TABLES}`
    const source = `---\nsources: { list: { connection: ${JSON.stringify(connection)}, query: ${JSON.stringify(query)} } }\nlineage: none\n---\n\n\`\`\`sql names\nselect * from list\n\`\`\`\n\n# Tables\n`
    const { tables } = await client.templates.preview({ source })
    const { rows } = tables.names as { rows: unknown[][] }
    return {
      next: 'Call assay_look with the connection and one of its tables.',
      data: { tables: rows.map(([name]) => String(name)) },
    }
  },
})
