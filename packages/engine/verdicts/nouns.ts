/** Forms the singular and the plural of nouns: "1 week", "3 weeks", "1 person", "3 people", "2 series". */
import { type Measure, readable } from './measure.ts'

const IRREGULAR: Record<string, string> = {
  child: 'children',
  foot: 'feet',
  man: 'men',
  mouse: 'mice',
  person: 'people',
  tooth: 'teeth',
  woman: 'women',
}
const SINGULAR = Object.fromEntries(Object.entries(IRREGULAR).map(([one, many]) => [many, one]))
/** Nouns with one form for both numbers. */
const UNCHANGED = new Set([
  'data',
  'gas',
  'news',
  'percent',
  'series',
  'sheep',
  'species',
  'staff',
  'traffic',
])

/**
 * Returns the plural. It changes the last word of the phrase: "user account" becomes "user accounts". A plural stays
 * as it is.
 */
function plural(phrase: string): string {
  return lastWord(phrase, (word) => {
    if (UNCHANGED.has(word) || word in SINGULAR) return word
    if (IRREGULAR[word] !== undefined) return IRREGULAR[word]
    if (/(?:[^aeious]s|[aeo]s)$/u.test(word)) return word
    if (word.endsWith('is')) return `${word.slice(0, -2)}es`
    if (/(?:s|x|z|ch|sh)$/u.test(word)) return `${word}es`
    return /[^aeiou]y$/u.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`
  })
}

/**
 * Returns the singular. It changes the last word of the phrase: "opening hours" becomes "opening hour". Other words
 * stay as they are.
 */
export function singular(phrase: string): string {
  return lastWord(phrase, (word) => {
    if (UNCHANGED.has(word)) return word
    if (SINGULAR[word] !== undefined) return SINGULAR[word]
    if (/[^aeiou]ies$/u.test(word) && word.length > 4) return `${word.slice(0, -3)}y`
    if (/(?:ss|x|z|ch|sh|us)es$/u.test(word)) return word.slice(0, -2)
    return /(?:ss|us|is)$/u.test(word) || !/\p{L}{2}s$/u.test(word) ? word : word.slice(0, -1)
  })
}

/**
 * Returns what the rows of an identifying column are called: `user_id` is "user" and "users", `u` is "unit" and
 * "units".
 */
export function nounsOf(column: string): { one: string; many: string } {
  const bare = readable(column).replace(/ (?:id|key|uuid|guid)$/iu, '')
  const one = bare.length < 2 ? 'unit' : singular(bare)
  return { one, many: plural(one) }
}

/** Returns a noun with its article: "a day", "an hour", "every 2 days". A plural such as "items" gets none. */
export function withArticle(noun: string): string {
  if (/^\d/u.test(noun)) return `every ${noun}`
  if (verbFor(noun) === 'are') return noun
  return `${/^(?:[aeio]|hour)/iu.test(noun) ? 'an' : 'a'} ${noun}`
}

/**
 * Returns the verb that fits a label: "orders are", "the share of orders is". The noun before "of", "per" and the
 * like decides.
 */
export function verbFor(label: string, one = 'is', many = 'are'): string {
  const head = headOf(label)
  return singular(head) === head ? one : many
}

/** Returns the noun that decides, with the words before it: "returned orders" of "returned orders per day". */
const headOf = (label: string): string =>
  label.toLowerCase().split(/ (?:of|per|in|for|from|to|at|by|with|without|within|outside|on|a|an) /u)[0] ??
  label

/** Plurals of sizes: prices become higher, and not more. */
const SIZES =
  /\b(?:ages|amounts|averages|balances|costs|degrees|densities|depths|distances|durations|earnings|emissions|expenses|fees|gains|grades|heights|incomes|lengths|levels|losses|margins|marks|means|odds|percentages|pressures|prices|profits|proportions|rates|ratings|revenues|salaries|sales|savings|scores|shares|speeds|taxes|temperatures|times|values|volumes|wages|weights|widths|yields)$/u

/** Tells whether a measure is of things that are counted, such as orders. */
export function isCounted({ label, unit, fmt }: Measure): boolean {
  const plain = unit === null && !/^(?:eur|gbp|jpy|usd|pct|pts)/iu.test(fmt ?? '')
  return plain && verbFor(label) === 'are' && !SIZES.test(headOf(label))
}

/** Says "more orders", "fewer orders", "a higher price" without its article, "lower sales". */
export function comparative(measure: Measure, up: boolean): string {
  const [more, less] = isCounted(measure) ? ['more', 'fewer'] : ['higher', 'lower']
  return `${up ? more : less} ${measure.label}`
}

function lastWord(phrase: string, change: (word: string) => string): string {
  const [, before = '', word = ''] = /^(.*?)(\p{L}*)$/su.exec(phrase) ?? []
  return word === '' ? phrase : before + change(word)
}
