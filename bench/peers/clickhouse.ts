/**
 * Serves ClickHouse's own engine (chdb) behind as much of its HTTP interface as a client needs, for machines without
 * a server. Settings, parameters, formats, read-only sessions, the list of queries and KILL QUERY are the engine's;
 * this file reads and answers the requests. There are no users; SHOW GRANTS shows one who only reads. It prints its
 * address and serves until it is stopped: node bin/runtime.js bench/peers/clickhouse.ts [FOLDER WITH chdb, by default
 * bench's own]
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, Socket } from 'node:net'
import { tmpdir, totalmem } from 'node:os'
import path from 'node:path'

/** The part of the package that this file uses. */
interface Session {
  query(sql: string, format?: string): string
  queryAsync(sql: string, options: { format: string }): Promise<{ text(): string }>
  close(): void
}

interface Asked {
  session: Session
  sql: string
  format: string
  id: string | null
}

/** Parameters of the HTTP interface that are not settings of the engine. */
const OWN = new Set(['query', 'query_id', 'database', 'user', 'password', 'default_format'])

/** The bytes that a query may take, so that one that needs more fails and the machine stays. */
const MEMORY = Math.floor(totalmem() / 2)

const READS_ONLY = 'GRANT SELECT ON *.* TO default\n'

const literal = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string
  return text
}

/** Puts the client's id into a comment of the query, because the engine assigns its own query ids. */
function marked(sql: string, id: string | null): string {
  return sql
    .replace(/\bquery_id = '([^']*)'/g, "(query like '%/* $1 */%' and query not like 'KILL%')")
    .replace(/\s*$/, id === null ? '' : ` /* ${id} */`)
}

function refusal(error: unknown): string {
  return `${(error as Error).message.replace(/^Query failed: /, '')} (version chdb)\n`
}

/**
 * Sends the rows while the engine writes them into a pipe, in any format. The engine's own streams would give each
 * chunk a head.
 */
async function sendRows({ session, sql, format, id }: Asked, response: ServerResponse): Promise<void> {
  const pipe = path.join(data, `${randomUUID()}.pipe`)
  execFileSync('mkfifo', [pipe])
  const reader = new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false,
  })
  // The pipe is held open until the query has ended, so that the reader sees no early end.
  const held = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  const sent = new Promise<void>((resolve) => reader.once('close', () => resolve()))
  reader.once('error', () => undefined).pipe(response, { end: false })
  response.once('close', () => {
    reader.destroy()
    if (id !== null && !response.writableFinished) end(id)
  })
  try {
    await session.queryAsync(`${sql}\nINTO OUTFILE ${literal(pipe)} TRUNCATE FORMAT ${format}`, {
      format: 'Null',
    })
  } finally {
    closeSync(held)
    rmSync(pipe)
    await sent
  }
  response.end()
}

/** Ends the query of a client that has gone, as cancel_http_readonly_queries_on_client_close does. */
function end(id: string): void {
  const session = new chdb.Session(data)
  void session
    .queryAsync(marked(`KILL QUERY WHERE query_id = '${id}' ASYNC`, null), { format: 'Null' })
    .catch(() => undefined)
    .finally(() => session.close())
}

function serveClickhouse(open: () => Session) {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { searchParams } = new URL(request.url!, 'http://here')
    const id = searchParams.get('query_id')
    const sql = marked(await bodyOf(request), id)
    const format = searchParams.get('default_format') ?? 'TabSeparated'
    const session = open()
    try {
      // The setting `readonly` is last, because nothing can be set after it.
      const settings = [...searchParams].filter(([name]) => !OWN.has(name) && name !== 'readonly')
      session.query(`SET max_memory_usage = ${MEMORY}`)
      for (const [name, value] of settings) session.query(`SET ${name} = ${literal(value)}`)
      if (searchParams.has('readonly'))
        session.query(`SET readonly = ${Number(searchParams.get('readonly'))}`)
      if (/^\s*show grants/i.test(sql)) {
        response.end(READS_ONLY)
        return
      }
      if (!/^\s*(select|with)/i.test(sql)) {
        response.end((await session.queryAsync(sql, { format })).text())
        return
      }
      await sendRows({ session, sql, format, id }, response)
    } catch (error) {
      // Servers from 25.11 on report an error this way once the answer has begun.
      if (response.headersSent)
        response.end(`__exception__\r\ntag\r\n${refusal(error)}1 tag\r\n__exception__\r\n`)
      else response.writeHead(500).end(refusal(error))
    } finally {
      session.close()
    }
  }
  return createServer((request, response) => void answer(request, response))
}

const folder = path.resolve(process.argv[2] ?? path.dirname(import.meta.dirname))
const chdb = createRequire(path.join(folder, 'package.json'))('chdb') as {
  Session: new (data: string) => Session
}
const data = mkdtempSync(path.join(tmpdir(), 'assay-clickhouse-'))
// One session stays open, so that tables in memory outlive the sessions of requests.
const first = new chdb.Session(data)
const server = serveClickhouse(() => new chdb.Session(data))
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const version = first.query('select version()', 'TabSeparatedRaw').trim()
  console.log(`ASSAY_TEST_CLICKHOUSE=http://127.0.0.1:${port}/ (ClickHouse ${version})`)
})
process.once('exit', () => rmSync(data, { recursive: true, force: true }))
process.once('disconnect', () => process.exit(0))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
