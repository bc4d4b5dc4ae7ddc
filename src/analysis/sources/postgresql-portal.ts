/**
 * One query over PostgreSQL's extended protocol, spoken through the library's connection: described without being run,
 * then fetched in turns. (pg-cursor describes only as it runs, and makes an object of each field on the way.)
 */
import type { Client, Submittable } from 'pg'
import type { Field } from './postgresql-types.ts'
import { SourceError } from './source.ts'

/** What this file uses of pg's connection. */
interface Wire {
  parse(query: { name: string; text: string; types: number[] }): void
  bind(binding: { portal: string; statement: string; values: (string | null)[] }): void
  describe(what: { type: 'S' | 'P'; name: string }): void
  execute(what: { portal: string; rows: number }): void
  sync(): void
  flush(): void
}

interface Waiting {
  resolve(): void
  reject(error: Error): void
}

/** Of the statement and of its portal. */
const NAME = 'assay'

/** The text of a row, field by field. */
export type TextRow = (string | null)[]

export interface Fetched {
  rows: TextRow[]
  /** Of their text. */
  bytes: number
  more: boolean
}

/** It is submitted twice: to be described, then to be fetched; in between the connection is free for other queries. */
export class Portal implements Submittable {
  readonly #text: string
  readonly #types: number[]
  readonly #values: (string | null)[]
  #wire: Wire | null = null
  #fetching = false
  #waiting: Waiting | null = null
  #fields: Field[] | null = null
  #wanted = 0
  #rows: TextRow[] = []
  #bytes = 0
  #more = true
  #failure: Error | null = null

  constructor(text: string, types: number[], values: (string | null)[]) {
    this.#text = text
    this.#types = types
    this.#values = values
  }

  /** The columns that the query gives. It is not run. */
  async describe(client: Client): Promise<Field[]> {
    client.query(this)
    await this.#turn()
    if (this.#fields === null) throw new SourceError('The query gives no rows: write one SELECT.')
    return this.#fields
  }

  /** The next rows, at most `count`. */
  async fetch(client: Client, count: number): Promise<Fetched> {
    this.#rows = []
    this.#bytes = 0
    this.#wanted = count
    if (!this.#fetching) {
      this.#fetching = true
      client.query(this)
    } else this.#execute()
    await this.#turn()
    return { rows: this.#rows, bytes: this.#bytes, more: this.#more }
  }

  #execute(): void {
    this.#wire?.execute({ portal: NAME, rows: this.#wanted })
    this.#wire?.flush()
  }

  /** Lets the connection go on to other queries. */
  end(): void {
    this.#wire?.sync()
  }

  #turn(): Promise<void> {
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

  // What pg calls.

  submit(connection: unknown): void {
    this.#wire = connection as Wire
    if (this.#fetching) {
      this.#wire.bind({ portal: NAME, statement: NAME, values: this.#values })
      this.#execute()
      return
    }
    this.#wire.parse({ name: NAME, text: this.#text, types: this.#types })
    this.#wire.describe({ type: 'S', name: NAME })
    this.#wire.sync()
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

  handleDataRow({ fields }: { fields: TextRow }): void {
    for (const field of fields) if (field !== null) this.#bytes += field.length
    this.#rows.push(fields)
  }

  handlePortalSuspended(): void {
    this.#done()
  }

  handleCommandComplete(): void {
    this.#more = false
    this.#done()
  }

  handleEmptyQuery(): void {
    this.#more = false
    this.#done()
  }

  handleError(error: Error): void {
    this.#failure = error
    // The server passes over everything until it is told to begin anew; a description has said so already.
    if (this.#fetching) this.end()
    this.#done()
  }

  handleReadyForQuery(): void {
    this.#wire = null
    this.#done()
  }
}
