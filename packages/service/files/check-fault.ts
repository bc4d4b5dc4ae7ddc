/** What a check of an upload is, and what it finds. */

/** `message` goes on after the name of the file: "is no JSON: ...". Line and column count from 1, the column in bytes. */
export interface CheckFault {
  message: string
  line?: number
  column?: number
}

export interface Check {
  /** Null: sound so far. After a fault nothing more may be pushed. */
  push(bytes: Buffer): CheckFault | null
  end(): CheckFault | null
}
