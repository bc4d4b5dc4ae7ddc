/**
 * Writes numbers and names for summary sentences: plain text, no Markdown, the same in every locale. No function yields
 * "NaN" or "Infinity"; an unknown number is "unknown".
 */

/**
 * Writes a number with enough digits to act on: 3 to 4 significant ones below 1,000, whole and grouped above.
 * `resolution` is the size of a difference that matters, for example half an interval. With it the number has as many
 * decimals as that size needs.
 */
export function figure(value: number | null, resolution?: number | null): string {
  if (value === null || !Number.isFinite(value)) return 'unknown'
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2).replace('e+', 'e')
  if (resolution && Number.isFinite(resolution)) {
    return grouped(value, Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(Math.abs(resolution))))))
  }
  if (Number.isInteger(value) || size >= 1000) return grouped(value, 0)
  return trimmed(value.toPrecision(size >= 100 ? 4 : 3))
}

/** Writes a signed number: "+3.2", "-12", "0". */
export function signed(value: number | null, resolution?: number | null): string {
  const text = figure(value, resolution)
  return value !== null && value > 0 && text !== 'unknown' && text !== '0' ? `+${text}` : text
}

/** Writes a share as a percentage with one decimal: 0.1234 is "12.3 %". */
export function percent(share: number | null): string {
  const value = share === null ? Number.NaN : share * 100
  if (share === null || !Number.isFinite(value)) return 'unknown'
  if (Math.abs(value) >= 1000) return `${grouped(value, 0)} %`
  if (value !== 0 && Math.abs(value) < 0.05) return `${trimmed(value.toPrecision(1))} %`
  const text = value.toFixed(1)
  if (Math.abs(share) < 1 && Math.abs(Number(text)) === 100) return share > 0 ? 'over 99.9 %' : 'over -99.9 %'
  return `${text} %`
}

/**
 * Writes the ends of an interval: "0.12 to 0.34". Ends that read alike get more digits, so that they differ. If twelve
 * decimals are not enough, the text is "about 1". `shown` writes an end.
 */
export function range(
  low: number | null,
  high: number | null,
  shown: (value: number | null, resolution?: number) => string = figure,
): string {
  const [left, right] = [shown(low), shown(high)]
  if (left !== right || low === null || high === null || low === high) return `${left} to ${right}`
  const half = (high - low) / 2
  const [nearer, farther] = [shown(low, half), shown(high, half)]
  if (nearer !== farther) return `${nearer} to ${farther}`
  return left.startsWith('over ') ? left : `about ${left}`
}

/** Writes a probability value as it is usually printed: "p = 0.034", "p below 0.001". */
export function probability(p: number | null): string {
  if (p === null || !Number.isFinite(p)) return 'p unknown'
  if (p < 0.001) return 'p below 0.001'
  return `p = ${trimmed(p.toPrecision(2))}`
}

/** Writes a name from the data on one line, cut at 60 characters. */
export function label(value: unknown): string {
  if (value === null || value === undefined) return '(none)'
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/gu, ' ').trim()
  if (text === '') return '(empty)'
  const letters = Array.from(text)
  return letters.length <= 60 ? text : `${letters.slice(0, 59).join('')}…`
}

/** Says "1 row", "2 rows", "1,234 rows". */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${grouped(amount, 0)} ${amount === 1 ? one : many}`
}

/** Says "There is 1 value", "There are no values", "There are 3 values". */
export function thereAre(amount: number, one: string, many = `${one}s`): string {
  if (amount === 0) return `There are no ${many}`
  return `There ${amount === 1 ? 'is' : 'are'} ${count(amount, one, many)}`
}

/** Joins words as a sentence has them: "a", "a and b", "a, b and c". */
export function enumeration(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'none'
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/** Returns a finite number, or null for NaN and infinities, which JSON and sentences must not hold. */
export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

/** Writes a number with thousands separators and at most `decimals` decimals. 0 is never negative. */
function grouped(value: number, decimals: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential(2).replace('e+', 'e')
  const [whole = '', fraction = ''] = trimmed(Math.abs(value).toFixed(decimals)).split('.')
  const text = whole.replace(/\B(?=(\d{3})+$)/gu, ',') + (fraction === '' ? '' : `.${fraction}`)
  return value < 0 && text !== '0' ? `-${text}` : text
}

function trimmed(text: string): string {
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/u, '') : text
}
