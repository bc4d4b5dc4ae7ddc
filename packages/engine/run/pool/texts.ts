/** Sends the large texts of a task to its process in pieces, so that other work runs between them. */
import type { ChildProcess } from 'node:child_process'
import type { ToChild } from '../protocol.ts'

/** The large texts of a task by name, in UTF-8. */
export type Texts = Readonly<Record<string, Uint8Array>>

/** The bytes of a piece. A message of this size takes a millisecond to write. */
const PIECE = 256_000

function sent(process_: ChildProcess, message: ToChild): Promise<void> {
  return new Promise((resolve) => {
    if (process_.connected) process_.send(message, () => resolve())
    else resolve()
  })
}

export async function sendTexts(
  process_: ChildProcess,
  id: number,
  read: () => Promise<Texts>,
  signal: AbortSignal,
): Promise<void> {
  for (const [name, bytes] of Object.entries(await read())) {
    const decoder = new TextDecoder()
    for (let at = 0; at < bytes.length && !signal.aborted; at += PIECE) {
      const piece = decoder.decode(bytes.subarray(at, at + PIECE), { stream: at + PIECE < bytes.length })
      await sent(process_, { type: 'text', id, name, piece })
    }
  }
}
