/**
 * Runs one query over PostgreSQL's extended protocol, on the library's connection. It is described without being run,
 * then fetched in batches. The fetched messages are parsed here, since the library makes a string of each field and an
 * array of each row (docs/decisions/0040-packed-columns.md). pg-cursor cannot describe a query without running it.
 */
import { type Client, DatabaseError, type Submittable } from 'pg'
import { SourceError } from '../source.ts'
import { messagesOf, type RowCollector } from './rows.ts'
import type { Field } from './types.ts'

/** The part of pg's connection that is used here. */
interface Wire {
  stream: NodeJS.ReadWriteStream
  parse(query: { name: string; text: string; types: number[] }): void
  describe(what: { type: 'S' | 'P'; name: string }): void
  execute(what: { portal: string; rows: number }): void
  sync(): void
  flush(): void
}

interface PendingStep {
  resolve(): void
  reject(error: Error): void
}

/** The name of the statement and of its portal. */
const NAME = 'assay'

/** The codes of messages. */
const CODE = { row: 68, bound: 50, suspended: 115, complete: 67, empty: 73, fault: 69 }

/**
 * A query that is submitted twice: to describe, then to fetch. In between the connection is free for other queries.
 */
export class Portal implements Submittable {
  readonly #text: string
  readonly #types: number[]
  readonly #values: (string | null)[]
  #wire: Wire | null = null
  #fetching = false
  #binary: readonly boolean[] = []
  #waiting: PendingStep | null = null
  #fields: Field[] | null = null
  #wanted = 0
  #rows: RowCollector | null = null
  #more = true
  #failure: Error | null = null

  constructor(text: string, types: number[], values: (string | null)[]) {
    this.#text = text
    this.#types = types
    this.#values = values
  }

  /** Resolves to the columns of the query, which is not run. */
  async describe(client: Client): Promise<Field[]> {
    client.query(this)
    await this.#step()
    if (this.#fields === null) throw new SourceError('The query gives no rows: write one SELECT.')
    return this.#fields
  }

  /**
   * Fetches at most `count` rows into `rows`. Resolves to false after the last row. `binary` says for each column whether
   * it comes in its binary form. From the first fetch on the connection takes no other query.
   */
  async fetch(
    client: Client,
    rows: RowCollector,
    count: number,
    binary: readonly boolean[],
  ): Promise<boolean> {
    rows.begin(count)
    this.#rows = rows
    this.#wanted = count
    if (!this.#fetching) {
      this.#fetching = true
      this.#binary = binary
      client.query(this)
    } else this.#execute()
    await this.#step()
    return this.#more
  }

  #execute(): void {
    this.#wire?.execute({ portal: NAME, rows: this.#wanted })
    this.#wire?.flush()
  }

  #step(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  #done(): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (this.#failure) waiting?.reject(this.#failure)
    else waiting?.resolve()
  }

  // The methods below are those that pg calls.

  submit(connection: unknown): void {
    this.#wire = connection as Wire
    if (this.#fetching) {
      const { stream } = this.#wire
      stream.removeAllListeners('data')
      stream.on('data', this.#messages())
      stream.write(bindMessage(NAME, this.#values, this.#binary))
      this.#execute()
      return
    }
    this.#wire.parse({ name: NAME, text: this.#text, types: this.#types })
    this.#wire.describe({ type: 'S', name: NAME })
    this.#wire.sync()
  }

  #messages(): (piece: Buffer) => void {
    return messagesOf((code, from, at, end) => {
      if (this.#failure) return
      if (code === CODE.row) this.#take(from, at)
      else if (code === CODE.fault) this.handleError(faultOf(from, at, end))
      else if (code === CODE.suspended) this.#done()
      else if (code === CODE.complete || code === CODE.empty) {
        this.#more = false
        this.#done()
      }
    })
  }

  #take(from: Buffer, at: number): void {
    try {
      this.#rows?.take(from, at)
    } catch (error) {
      this.#failure = error as Error
      this.#done()
    }
  }

  handleRowDescription(message: {
    fields: { name: string; dataTypeID: number; dataTypeModifier: number }[]
  }): void {
    this.#fields = message.fields.map(({ name, dataTypeID, dataTypeModifier }) => ({
      name,
      oid: dataTypeID,
      modifier: dataTypeModifier,
    }))
  }

  handleEmptyQuery(): void {
    this.#done()
  }

  handleError(error: Error): void {
    this.#failure = error
    this.#done()
  }

  handleReadyForQuery(): void {
    this.#wire = null
    this.#done()
  }
}

/**
 * Returns the Bind message: portal and statement of the same name, parameters as text, and the format of each result
 * column.
 */
function bindMessage(name: string, values: readonly (string | null)[], binary: readonly boolean[]): Buffer {
  const int16 = (...numbers: number[]): Buffer => {
    const bytes = Buffer.alloc(2 * numbers.length)
    for (const [index, number] of numbers.entries()) bytes.writeUInt16BE(number, 2 * index)
    return bytes
  }
  const int32 = (number: number): Buffer => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(number)
    return bytes
  }
  const body = Buffer.concat([
    Buffer.from(`${name}\0${name}\0`),
    int16(0, values.length),
    ...values.flatMap((value) => {
      if (value === null) return [int32(-1)]
      const bytes = Buffer.from(value)
      return [int32(bytes.length), bytes]
    }),
    int16(binary.length, ...binary.map(Number)),
  ])
  return Buffer.concat([Buffer.from('B'), int32(body.length + 4), body])
}

/** Parses an ErrorResponse: fields of a letter and a text. */
function faultOf(from: Buffer, at: number, end: number): DatabaseError {
  const fields = new Map<string, string>()
  for (const field of from.toString('utf8', at, end).split('\0'))
    fields.set(field.slice(0, 1), field.slice(1))
  const fault = new DatabaseError(fields.get('M') ?? '', end - at, 'error')
  fault.severity = fields.get('S')
  fault.code = fields.get('C')
  fault.position = fields.get('P')
  return fault
}
