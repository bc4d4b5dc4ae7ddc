/**
 * How an engine writes what the SQL of a method needs beyond what Dialect holds. A phrase that an engine lacks is null: what needs it is
 * not asked there, and the rows come here.
 */
export interface Phrases {
  /** A column of text as what is compared and shown byte by byte. */
  word(value: string): string
  /** A column of a type that may be null, where the engine tells the two apart. */
  column(value: string): string
  /** The first characters of a word. */
  start(value: string, length: number): string
  /** A whole number, or a date, as text. */
  written(value: string): string
  /** A number as an integer of 64 bits. */
  integer(value: string): string
  /** Two doubles, one over the other; of a zero below it is null or no finite number. */
  over(left: string, right: string): string
  floor(value: string): string
  power(base: string, exponent: string): string
  /** A sum of doubles, as exact as the engine's own is. */
  sum(value: string): string
  /** The exact sum of doubles that are whole numbers below 2^91 once they are multiplied by `scale`, for `readSum`. */
  exact(value: string, scale: number): string
  /** Whether two values are the same, nulls too. */
  same(left: string, right: string): string
  /** A day, "2024-02-29", to compare times with. */
  day(text: string): string
  /** A moment on the clock of the zone; null where the engine may not know the zone. */
  local(value: string, zone: string): string | null
  /** Minutes after midnight of a time. */
  minutes(value: string): string
  /** Microseconds since 1970: of a moment, of a time on its own clock, or of the midnight that a day begins with. */
  micros(value: string, of: 'moment' | 'clock' | 'date'): string
}

/**
 * An exact sum in three integers of 30 bits (sufficient/sums.ts), as text with a blank between: `readSum` joins them. `text` writes the
 * sum of an integer.
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
