/**
 * Numbers and names as summary sentences show them: plain text, no Markdown, the same in every locale. Nothing here
 * ever yields "NaN" or "Infinity"; what is unknown is "unknown".
 */

/** A number with enough digits to act on: 4 significant ones below 1,000, whole and grouped above. */
export function figure(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return 'unknown'
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2).replace('e+', 'e')
  if (Number.isInteger(value) || size >= 1000) return grouped(Math.round(value))
  return trimmed(value.toPrecision(size >= 100 ? 4 : 3))
}

/** A signed number: "+3.2", "-12", "0". */
export function signed(value: number | null): string {
  const text = figure(value)
  return value !== null && value > 0 && text !== 'unknown' ? `+${text}` : text
}

/** A share as a percentage with one decimal: 0.1234 is "12.3%". */
export function percent(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return 'unknown'
  const value = share * 100
  if (Math.abs(value) >= 1000) return `${grouped(Math.round(value))}%`
  if (value !== 0 && Math.abs(value) < 0.05) return `${trimmed(value.toPrecision(1))}%`
  return `${value.toFixed(1)}%`
}

/** A probability value as it is usually printed: "p = 0.034", "p < 0.001". */
export function probability(p: number | null): string {
  if (p === null || !Number.isFinite(p)) return 'p unknown'
  if (p < 0.001) return 'p < 0.001'
  return `p = ${trimmed(p.toPrecision(2))}`
}

/** A name out of the data on one line, cut at 60 characters. */
export function label(value: unknown): string {
  if (value === null || value === undefined) return '(none)'
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/gu, ' ').trim()
  if (text === '') return '(empty)'
  const letters = Array.from(text)
  return letters.length <= 60 ? text : `${letters.slice(0, 59).join('')}…`
}

/** "1 row", "2 rows", "1,234 rows". */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${grouped(amount)} ${amount === 1 ? one : many}`
}

/** A list of words as a sentence has it: "a", "a and b", "a, b and c". */
export function enumeration(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'none'
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/** A finite number, or null for what JSON and sentences must not hold. */
export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

function grouped(value: number): string {
  const text = Math.abs(value).toString()
  if (text.includes('e')) return value.toExponential(2).replace('e+', 'e')
  return `${value < 0 ? '-' : ''}${text.replace(/\B(?=(\d{3})+$)/gu, ',')}`
}

function trimmed(text: string): string {
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/u, '') : text
}
