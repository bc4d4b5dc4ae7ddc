/** Describes a pattern of a variable in words: "3 capital letters". Returns null if words would not be clearer. */

type Part = [what: string, least: number, most: number]

const CLASSES: [RegExp, string][] = [
  [/^A-Z/, 'capital letters'],
  [/^a-z/, 'small letters'],
  [/^(?:0-9|\\d)/, 'digits'],
  [/^\\w/, 'letters, digits and “_”'],
  [/^\\s/, 'spaces'],
]
const SINGULAR: Record<string, string> = {
  'capital letters': 'capital letter',
  'small letters': 'small letter',
  letters: 'letter',
  digits: 'digit',
  spaces: 'space',
}

const listed = (names: readonly string[], word: string): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`

/** Describes a class of characters such as "A-Z0-9_". */
function classWords(inside: string): string | null {
  const names: string[] = []
  let left = inside
  while (left !== '') {
    const known = CLASSES.find(([sign]) => sign.test(left))
    if (known) {
      names.push(known[1])
      left = left.replace(known[0], '')
      continue
    }
    const sign = /^\\?([^A-Za-z0-9\s^\\])|^ /.exec(left)
    if (!sign || (left[sign[0].length] === '-' && left.length > sign[0].length + 1)) return null
    names.push(sign[1] === undefined ? 'spaces' : `“${sign[1]}”`)
    left = left.slice(sign[0].length)
  }
  const both = ['capital letters', 'small letters']
  const letters = both.every((name) => names.includes(name))
  return listed(letters ? ['letters', ...names.filter((name) => !both.includes(name))] : names, 'and')
}

const QUANTITY = /^(?:\{(\d+)(?:(,)(\d*))?\}|([?*+]))/

function quantity(text: string): [least: number, most: number, length: number] {
  const found = QUANTITY.exec(text)
  if (!found) return [1, 1, 0]
  const [all, least, comma, most, sign] = found
  if (sign) return [sign === '+' ? 1 : 0, sign === '?' ? 1 : Number.POSITIVE_INFINITY, all.length]
  const from = Number(least)
  return [from, comma === undefined ? from : most ? Number(most) : Number.POSITIVE_INFINITY, all.length]
}

/** Returns the parts; null if the pattern has a part without words. */
function partsOf(pattern: string): Part[] | null {
  const parts: Part[] = []
  let left = pattern
  while (left !== '') {
    const found = /^\[([^\]^][^\]]*)\]|^(\\[dws])|^\\([^\w\s])|^([\w \-_:/@,;#%&=~"'])/.exec(left)
    if (!found) return null
    const [all, inside, short, escaped, literal] = found
    const what = inside ?? short
    const words = what === undefined ? `“${escaped ?? literal}”` : classWords(what)
    if (words === null) return null
    const [least, most, length] = quantity(left.slice(all.length))
    parts.push([words, least, most])
    left = left.slice(all.length + length)
  }
  return parts
}

/** Joins neighbouring signs to one text: “ORD-”. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = []
  for (const part of parts) {
    const [what, least, most] = part
    const before = all.at(-1)
    const plain = ([text, from, to]: Part): boolean => text.startsWith('“') && from === 1 && to === 1
    if (before && plain(before) && plain(part)) before[0] = `${before[0].slice(0, -1)}${what.slice(1)}`
    else all.push([what, least, most])
  }
  return all
}

function partWords([what, least, most]: Part): string {
  const one = least === 1 && most === 1
  if (one) return what.startsWith('“') ? what : `one ${SINGULAR[what] ?? `of ${what}`}`
  if (least === most) return `${least} ${what}`
  if (least === 0 && most === 1)
    return `${what.startsWith('“') ? what : `one ${SINGULAR[what] ?? `of ${what}`}`} or nothing`
  if (most === Number.POSITIVE_INFINITY) return least <= 1 ? what : `${what}, at least ${least}`
  return least <= 1 ? `${what}, at most ${most}` : `${what}, ${least} to ${most}`
}

export function patternInWords(pattern: string): string | null {
  const whole = /^\^(.*)\$$/.exec(pattern)?.[1]
  if (whole === undefined || whole === '') return null
  const choices = /^\(?:?\??:?([\w -]+(?:\|[\w -]+)+)\)?$/.exec(whole)?.[1]
  if (choices !== undefined)
    return `one of ${listed(
      choices.split('|').map((one) => `“${one}”`),
      'or',
    )}`
  const parts = partsOf(whole)
  return parts && joined(parts).map(partWords).join(', then ')
}
