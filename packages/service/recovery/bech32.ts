/** Bech32 (BIP 173) without its limit of length, as age writes its keys. */

const DIGITS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
const CHECK_DIGITS = 6

function checksum(values: readonly number[]): number {
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [bit, word] of GENERATOR.entries()) if ((top >>> bit) & 1) sum ^= word
  }
  return sum
}

function expanded(prefix: string): number[] {
  const codes = Array.from(prefix, (letter) => letter.charCodeAt(0))
  return [...codes.map((code) => code >>> 5), 0, ...codes.map((code) => code & 31)]
}

/** Turns groups of `from` bits into groups of `to` bits. Returns null if the rest is not zero. */
function regrouped(values: Iterable<number>, from: number, to: number, padded: boolean): number[] | null {
  const out: number[] = []
  let held = 0
  let bits = 0
  for (const value of values) {
    held = (held << from) | value
    bits += from
    while (bits >= to) {
      bits -= to
      out.push((held >>> bits) & ((1 << to) - 1))
      held &= (1 << bits) - 1
    }
  }
  if (padded) {
    if (bits > 0) out.push((held << (to - bits)) & ((1 << to) - 1))
    return out
  }
  return bits < from && held === 0 ? out : null
}

/** Encodes bytes in lower case. */
export function encodeBech32(prefix: string, bytes: Uint8Array): string {
  const values = regrouped(bytes, 8, 5, true)!
  const sum = checksum([...expanded(prefix), ...values, ...Array<number>(CHECK_DIGITS).fill(0)]) ^ 1
  const check = Array.from(
    { length: CHECK_DIGITS },
    (_, index) => (sum >>> (5 * (CHECK_DIGITS - 1 - index))) & 31,
  )
  return `${prefix}1${[...values, ...check].map((value) => DIGITS[value]).join('')}`
}

/** Returns the bytes of a text with this prefix (in lower case). Null if it is not Bech32 or has a typing error. */
export function decodeBech32(prefix: string, text: string): Buffer | null {
  const lower = text.toLowerCase()
  if (text !== lower && text !== text.toUpperCase()) return null
  if (!lower.startsWith(`${prefix}1`)) return null
  const values = Array.from(lower.slice(prefix.length + 1), (letter) => DIGITS.indexOf(letter))
  if (values.length < CHECK_DIGITS || values.includes(-1)) return null
  if (checksum([...expanded(prefix), ...values]) !== 1) return null
  const bytes = regrouped(values.slice(0, -CHECK_DIGITS), 5, 8, false)
  return bytes && Buffer.from(bytes)
}
