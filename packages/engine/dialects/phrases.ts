/**
 * The phrases that the SQL of a method needs beyond Dialect, as each database writes them. A phrase is null if a
 * database lacks it; SQL that needs it does not run there, and the rows are fetched.
 */
export interface Phrases {
  /** Writes a column of text as a value that is compared and shown byte by byte. */
  word(value: string): string
  /** Writes a column as a nullable type, if the database distinguishes such types. */
  column(value: string): string
  /** Writes the first characters of a word. */
  start(value: string, length: number): string
  /** Writes a whole number, or a date, as text. */
  written(value: string): string
  /** Writes a number as an integer of 64 bits. */
  integer(value: string): string
  /** Writes the quotient of two doubles. With a zero divisor it is null or not finite. */
  over(left: string, right: string): string
  floor(value: string): string
  power(base: string, exponent: string): string
  /** Writes a sum of doubles, as exact as that of the database. */
  sum(value: string): string
  /** Writes the exact sum, for `readSum`, of doubles that times `scale` are whole numbers below 2^91. */
  exact(value: string, scale: number): string
  /** Writes an exact quantile, linear between two values; null if the database has none, and rows are then numbered. */
  quantile: ((value: string, share: number) => string) | null
  /** Tells whether two values are the same. Two nulls are. */
  same(left: string, right: string): string
  /** Writes a day such as "2024-02-29", to compare times with. */
  day(text: string): string
  /** Writes a moment on the clock of the zone; null if the engine may not know the zone. */
  local(value: string, zone: string): string | null
  /** Writes the minutes after midnight of a time. */
  minutes(value: string): string
  /**
   * Writes the microseconds since 1970 of a moment, of a time on its own clock, or of the midnight at which a day
   * begins.
   */
  micros(value: string, of: 'moment' | 'clock' | 'date'): string
}

/**
 * Writes an exact sum in three integers of 30 bits (sufficient/sums.ts), as text with a blank between. `readSum` joins
 * them. `text` writes the sum of an integer.
 */
export function inParts(
  value: string,
  scale: number,
  {
    number,
    whole,
    digits,
  }: { number(of: number): string; whole(of: string): string; digits(of: string): string },
  join: (parts: string[]) => string,
): string {
  const part = number(2 ** 30)
  const first = `((${value}) * ${number(scale * 2 ** -60)})`
  const second = `((${first} - ${whole(first)}) * ${part})`
  const third = `((${second} - ${whole(second)}) * ${part})`
  const nearest = `case when ${third} < 0 then ${whole(`(${third} - 0.5)`)} else ${whole(`(${third} + 0.5)`)} end`
  return join([digits(whole(first)), digits(whole(second)), digits(nearest)])
}
