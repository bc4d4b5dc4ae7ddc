/** Exact decimals, for money, for counts beyond 2^53, and for 0.1 + 0.2 = 0.3. A double counts as its shortest text. */

/** The decimal digits / 10^scale. */
export interface Decimal {
  digits: bigint
  scale: number
}

const NUMBER = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/

/** Returns the decimal of a value. Null if it is not a number; NaN and the infinities are not. */
export function toDecimal(value: unknown): Decimal | null {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  const match = typeof text === 'string' ? NUMBER.exec(text.trim()) : null
  if (!match) return null
  const fraction = match[3] ?? ''
  const digits = BigInt(`${match[1] === '-' ? '-' : ''}${match[2]}${fraction}`)
  const scale = fraction.length - Number(match[4] ?? 0)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

function aligned(left: Decimal, right: Decimal): [bigint, bigint, number] {
  const scale = Math.max(left.scale, right.scale)
  const lift = (value: Decimal): bigint => value.digits * 10n ** BigInt(scale - value.scale)
  return [lift(left), lift(right), scale]
}

export function add(left: Decimal, right: Decimal): Decimal {
  const [a, b, scale] = aligned(left, right)
  return { digits: a + b, scale }
}

export function negate(value: Decimal): Decimal {
  return { digits: -value.digits, scale: value.scale }
}

export function multiply(left: Decimal, right: Decimal): Decimal {
  return { digits: left.digits * right.digits, scale: left.scale + right.scale }
}

/** Returns a number below zero, zero or above. */
export function compare(left: Decimal, right: Decimal): number {
  const [a, b] = aligned(left, right)
  return a < b ? -1 : a > b ? 1 : 0
}

/** Rounds halves away from zero, as spreadsheets do. */
export function roundTo(value: Decimal, scale: number): Decimal {
  if (value.scale <= scale) {
    return { digits: value.digits * 10n ** BigInt(scale - value.scale), scale }
  }
  const unit = 10n ** BigInt(value.scale - scale)
  const size = value.digits < 0n ? -value.digits : value.digits
  const rounded = (size * 2n + unit) / (unit * 2n)
  return { digits: value.digits < 0n ? -rounded : rounded, scale }
}

/** Multiplies by 10^powers: 1234 by -3 is 1.234. */
export function shift(value: Decimal, powers: number): Decimal {
  const scale = value.scale - powers
  return scale >= 0
    ? { digits: value.digits, scale }
    : { digits: value.digits * 10n ** BigInt(-scale), scale: 0 }
}

/** Returns all digits: "12.50". Zero has no sign. */
export function toText({ digits, scale }: Decimal): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale)
  const sign = digits < 0n ? '-' : ''
  return scale === 0 ? sign + whole : `${sign}${whole}.${text.slice(-scale)}`
}

export function toNumber(value: Decimal): number {
  return Number(toText(value))
}
