/**
 * Sends the statements of a transaction in one pass of the event loop as one exchange of messages: one after the
 * other, with one Sync at their end. The driver alone sends a Sync with each statement, and the database answers each
 * by a packet of its own. PostgreSQL's manual describes the protocol in "Extended Query" and "Pipelining".
 */
import {
  type Connection,
  type PoolClient,
  Query,
  type QueryResult,
  type QueryResultRow,
  type TypeOverrides,
} from 'pg'

export interface Asked {
  text: string
  values: unknown[]
  /** The name under which the statement is prepared. Without a name it is not kept. */
  name?: string
}

/** The methods of a query that the driver calls and its types lack. */
interface Handled {
  name?: string
  text: string
  _result: { _types: TypeOverrides }
  _getRows(connection: Connection): void
  prepare(connection: Connection): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

type Answer = QueryResult<QueryResultRow>

/** The bytes after which the packet is sent, so that the database works while the rest is written. */
const SENT_EARLY_BYTES = 65_536

/** Writes the messages of a statement as the driver's own query does, but without the Sync. */
function partOf(
  asked: Asked,
  types: TypeOverrides,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
) {
  const part = new Query(asked, undefined, (error: Error | undefined, answer) =>
    error ? reject(error) : resolve(answer),
  ) as unknown as Handled
  part._result._types = types
  part._getRows = (connection) => connection.execute({ portal: '' }, true)
  return part
}

class Exchange extends Query {
  readonly #types: TypeOverrides
  readonly #parts: Handled[] = []
  #connection: Connection | null = null
  #at = 0
  #failed: Error | null = null
  /** Set by the driver, which measures the time of the whole exchange. */
  callback: (error: Error | null) => void = () => undefined

  constructor(types: TypeOverrides) {
    super({ text: '' })
    this.#types = types
  }

  override submit = (connection: Connection): null => {
    this.#connection = connection
    return null
  }

  ask(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#failed) return reject(this.#failed)
      const part = partOf(asked, this.#types, resolve, reject)
      this.#parts.push(part)
      const connection = this.#connection
      if (!connection) return
      part.prepare(connection)
      const { stream } = connection
      if (stream.writableLength < SENT_EARLY_BYTES) return
      stream.uncork()
      stream.cork()
    })
  }

  end(): void {
    this.#connection?.sync()
  }

  // By this name the driver records which statement the database has prepared.
  get name(): string | undefined {
    return this.#parts[this.#at]?.name
  }
  set name(_: string | undefined) {}
  get text(): string | undefined {
    return this.#parts[this.#at]?.text
  }
  set text(_: string | undefined) {}

  handleRowDescription(message: unknown): void {
    this.#parts[this.#at]!.handleRowDescription(message)
  }

  handleDataRow(message: unknown): void {
    this.#parts[this.#at]!.handleDataRow(message)
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    const part = this.#parts[this.#at]!
    this.#at += 1
    part.handleCommandComplete(message, connection)
    part.handleReadyForQuery(connection)
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  /** Handles the failure of a statement. The statements behind it are refused with it. */
  handleError(error: Error, connection: Connection): void {
    const names = (connection as unknown as { submittedNamedStatements: Record<string, string> })
      .submittedNamedStatements
    for (const part of this.#parts.slice(this.#at)) {
      if (part.name) delete names[part.name]
      part.handleError(error, connection)
    }
    this.#at = this.#parts.length
    this.#failed = error
    this.callback(error)
  }
}

const open = new WeakMap<PoolClient, Exchange>()

/** Adds the statement to the exchange of this pass. Resolves with its answer. */
export function askTogether(client: PoolClient, types: TypeOverrides, asked: Asked): Promise<Answer> {
  const known = open.get(client)
  if (known) return known.ask(asked)
  const exchange = new Exchange(types)
  const { stream } = client.connection
  open.set(client, exchange)
  stream.cork()
  client.query(exchange)
  process.nextTick(() => {
    open.delete(client)
    exchange.end()
    stream.uncork()
  })
  return exchange.ask(asked)
}
