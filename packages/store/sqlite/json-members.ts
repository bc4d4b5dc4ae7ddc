/** Finds the members of a JSON object in its bytes without parsing any value. */
import { setImmediate } from 'node:timers/promises'

/** The number of bytes between two passes of the event loop. */
const SLICE = 1_000_000

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [OPEN, OPEN_LIST, CLOSE, CLOSE_LIST] = [0x7b, 0x5b, 0x7d, 0x5d]

/** Returns the members by name. `bytes`: a JSON object in UTF-8. Each value is a part of them. */
export async function jsonMembers(bytes: Buffer): Promise<Map<string, Buffer>> {
  const members = new Map<string, Buffer>()
  let depth = 0
  let isText = false
  /** The index at which the name and the value of a member begin. */
  let name = 0
  let value = 0
  const end = (at: number): void => {
    if (value === 0) return
    const key = JSON.parse(bytes.toString('utf8', name, value - 1)) as string
    members.set(key, bytes.subarray(value, at))
    value = 0
  }
  let pause = SLICE
  for (let at = 0; at < bytes.length; at += 1) {
    if (at >= pause) {
      pause = at + SLICE
      await setImmediate()
    }
    const byte = bytes[at]
    if (isText) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN || byte === OPEN_LIST) {
      depth += 1
      if (depth === 1) name = at + 1
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 1) end(at)
      depth -= 1
    } else if (depth === 1 && byte === COLON && value === 0) value = at + 1
    else if (depth === 1 && byte === COMMA) {
      end(at)
      name = at + 1
    }
  }
  return members
}
