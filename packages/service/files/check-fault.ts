/** The contract of a check of an upload, and the fault that it finds. */

/**
 * A fault. `message` follows the name of the file: "is not JSON: ...". Line and column count from 1, the column in
 * bytes.
 */
export interface CheckFault {
  message: string
  line?: number
  column?: number
  /** Lines of a source with which the file can be read. */
  write?: string[]
}

export interface Check {
  /** Checks the next bytes. Returns null while they are sound. Do not call it after a fault. */
  push(bytes: Buffer): CheckFault | null
  end(): CheckFault | null
}
