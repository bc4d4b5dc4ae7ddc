/** For tests only: checks a headline by its rules (docs/verdicts.md). */
import type { Outcome } from '@assay/model/insight'

const MONTH = '(?:January|February|March|April|May|June|July|August|September|October|November|December)'
/** Dates and times are written in full, whatever their digits. */
const TIMES = [
  new RegExp(`\\d{1,2}(?: to \\d{1,2})? ${MONTH}(?: \\d{4})?`, 'gu'),
  new RegExp(`${MONTH} \\d{4}`, 'gu'),
  /\d{4}-\d{2}-\d{2}\S*/gu,
  /\b\d{2}:\d{2}\b/gu,
  /\b(?:at|in|from|to|of|and|until|before|after) [12]\d{3}\b/gu,
]
const RULES: [RegExp, string][] = [
  [/\b(?:z|p|t|F|n|r|df|chi-square)\s*(?:=|<|>|below)/u, 'a statistic'],
  [/\b(?:p-value|significant|interval|standard deviation|confidence)\b/iu, 'a word of statistics'],
  [/(?:^|[\s(])[-−+]\s?[\d.]/u, 'a sign'],
  [/\b[a-z]+_[a-z_]+\b/u, 'a raw column name'],
  [/\b(?:because|caused|due to|thanks to|led to|owing to|as a result of)\b/iu, 'a cause'],
  [/NaN|Infinity|undefined|\bnull\b|\[object/u, 'no text'],
  [/\s{2}|^\s|\s$| ,| \./u, 'stray blanks'],
]

/** Returns the faults of the headline of an outcome, or of a sentence in its place. Empty if it has none. */
export function headlineFaults({ headline, grade }: Pick<Outcome, 'headline' | 'grade'>): string[] {
  const found: string[] = []
  if (!/^[\p{Lu}\d"€$£¥]/u.test(headline) || !/[.)]$/u.test(headline)) found.push('not a sentence')
  const unquoted = headline.replaceAll(/"[^"]*"/gu, '"..."')
  for (const [rule, name] of RULES) {
    // A blocker may say why there is no answer.
    if (rule.test(unquoted) && !(name === 'a cause' && grade === 'withheld')) found.push(name)
  }
  // A blocker names exact counts: how many there are and how many are needed.
  if (grade !== 'withheld') {
    let rest = unquoted
    for (const time of TIMES) rest = rest.replaceAll(time, 'then')
    for (const [number] of rest.matchAll(/\d[\d,]*(?:\.\d+)?/gu)) {
      const digits = number.replaceAll(/[,.]/gu, '').replace(/^0+/u, '')
      const significant = number.includes('.') ? digits.length : digits.replace(/0+$/u, '').length
      if (significant > 3) found.push(`${number} has ${significant} digits`)
    }
  }
  return found.map((fault) => `${fault}: ${headline}`)
}
