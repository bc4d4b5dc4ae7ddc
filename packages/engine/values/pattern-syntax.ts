/**
 * Translates an ECMAScript pattern (flag u) to RE2, for a test whether a text matches somewhere. Characters and classes are
 * written as code points, because \s, the dot and the groups of RE2 differ.
 */
import { RE2JS } from 're2js'

/** `message` names the part that cannot be used, `remedy` what to write instead. */
export interface PatternFault {
  message: string
  remedy: string
}

/** The most characters, classes and boundaries with repetitions written out. RE2 allows counts up to 1,000. */
const MAX_POSITIONS = 2000

const DESCRIBE =
  'Describe the text itself with classes and alternatives between ^ and $; "enum" and "max_length" can do the rest.'
const UNREADABLE: [RegExp, string, string][] = [
  [/\(\?<?[=!]/y, 'looks ahead or behind, which takes no bounded time', DESCRIBE],
  [/\(\?[-ims]+:/y, 'changes the flags', 'Write the letters in a class: [Aa] in place of (?i:a).'],
  [
    /\\(?:[1-9]\d*|k<[^>]*>)/y,
    'refers back to a group, which takes no bounded time',
    'Write the repeated part out: (?:aa|bb) in place of ([ab])\\1.',
  ],
]

const SPACE =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NO_SPACE =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const ANY = '\\x{0}-\\x{10ffff}'
/** The content of a class for each escape of a set. */
const SETS: Record<string, string> = { d: '0-9', D: '\\D', w: '\\w', W: '\\W', s: SPACE, S: NO_SPACE }
/** The characters of control escapes. Outside of a class an earlier step handles \b, where it is a boundary. */
const CONTROLS: Record<string, number> = { '0': 0, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 }

const PROPERTY = /\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?([^}]*)\}/y
const CODE =
  /\\(?:u\{(?<long>[\da-f]+)\}|u(?<high>d[89ab]..)\\u(?<low>d[c-f]..)|u(?<unit>[\da-f]{4})|x(?<byte>[\da-f]{2})|c(?<letter>[a-z])|(?<other>.))/isuy
const REPEAT = /([*+?])\??|\{(\d+)(,?)(\d*)\}\??/y

class Unreadable extends Error {
  readonly fault: PatternFault

  constructor(message: string, remedy: string) {
    super(message)
    this.fault = { message, remedy }
  }
}

/** `size`: the positions of a group so far; `last`: those of the atom that a repetition would repeat. */
interface Group {
  size: number
  last: number
}

class Translation {
  readonly #pattern: string
  #at = 0
  #text = ''
  #groups: Group[] = [{ size: 0, last: 0 }]

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  run(): string {
    while (this.#at < this.#pattern.length) this.#step()
    const { size, last } = this.#groups[0]!
    if (size + last > MAX_POSITIONS) {
      throw new Unreadable(
        `it is longer than ${MAX_POSITIONS} characters and classes with its repetitions written out`,
        'Use smaller counts, * or +; "max_length" bounds the length of a text.',
      )
    }
    return this.#text
  }

  #take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#pattern)
    if (found) this.#at = expression.lastIndex
    return found
  }

  #step(): void {
    for (const [construct, what, remedy] of UNREADABLE) {
      const found = this.#take(construct)
      if (found) throw new Unreadable(`${found[0]} at character ${found.index + 1} ${what}`, remedy)
    }
    if (this.#take(/\((?:\?:|\?<[^>]*>)?/y)) {
      this.#text += '(?:'
      this.#groups.push({ size: 0, last: 0 })
    } else if (this.#take(/\)/y)) this.#close()
    else if (this.#take(/\|/y)) this.#atom('|')
    else if (this.#take(/\^/y)) this.#atom('\\A')
    else if (this.#take(/\$/y)) this.#atom('\\z')
    else if (this.#take(/\./y)) this.#atom('[^\\n\\r\\x{2028}\\x{2029}]')
    else if (this.#take(/\\b/y)) this.#atom('\\b')
    else if (this.#take(/\\B/y)) this.#atom('\\B')
    else if (this.#take(/\[/y)) this.#class()
    else this.#repeatOrMember()
  }

  #atom(text: string, positions = 1): void {
    this.#text += text
    const group = this.#groups.at(-1)!
    group.size += group.last
    group.last = positions
  }

  #close(): void {
    const { size, last } = this.#groups.pop()!
    this.#atom(')', Math.max(1, size + last))
  }

  /** Reads a repetition. Lazy and greedy ones match the same texts. */
  #repeatOrMember(): void {
    const repeat = this.#take(REPEAT)
    if (!repeat) {
      this.#atom(`[${this.#member()}]`)
      return
    }
    const [, sign, least, comma, most] = repeat
    const bounds = least === undefined ? [] : [Number(least), ...(most ? [Number(most)] : [])]
    this.#text += sign ?? `{${bounds[0]}${comma}${bounds[1] ?? ''}}`
    this.#groups.at(-1)!.last *= Math.max(1, ...bounds)
  }

  #class(): void {
    let members = ''
    let ranged = true
    const negated = this.#take(/\^/y) !== null
    while (!this.#take(/\]/y)) {
      // A minus makes a range only between two characters.
      if (!ranged && this.#take(/-(?!\])/y)) {
        members += `-${this.#member()}`
        ranged = true
        continue
      }
      const member = this.#member()
      ranged = !member.startsWith('\\x{') || member.includes('-')
      members += member
    }
    if (members === '') this.#atom(negated ? `[${ANY}]` : `[^${ANY}]`)
    else this.#atom(negated ? `[^${members}]` : `[${members}]`)
  }

  /** Reads one character or one set within a class. */
  #member(): string {
    const property = this.#take(PROPERTY)
    if (property) return this.#property(property)
    const set = this.#take(/\\([dDwWsS])/y)
    if (set) return SETS[set[1]!]!
    const code = this.#take(CODE)?.groups
    const point = code ? codePoint(code) : this.#take(/./suy)![0].codePointAt(0)!
    if (point < 0xd800 || point > 0xdfff) return `\\x{${point.toString(16)}}`
    throw new Unreadable(
      'it holds half of a character (a surrogate)',
      'Write the whole character: \\u{1F600}.',
    )
  }

  #property([whole, letter, name]: RegExpExecArray): string {
    if (readable(`\\p{${name}}`)) return `\\${letter}{${name}}`
    throw new Unreadable(
      `${whole} is not a supported property`,
      'Write a category by its short name (\\p{L}, \\p{Lu}, \\p{Nd}) or a script by its long one (\\p{Script=Greek}).',
    )
  }
}

function codePoint({
  long,
  high,
  low,
  unit,
  byte,
  letter,
  other,
}: Record<string, string | undefined>): number {
  const hex = long ?? unit ?? byte
  if (hex !== undefined) return Number.parseInt(hex, 16)
  if (high !== undefined) return String.fromCharCode(Number(`0x${high}`), Number(`0x${low}`)).codePointAt(0)!
  if (letter !== undefined) return letter.charCodeAt(0) % 32
  return CONTROLS[other!] ?? other!.codePointAt(0)!
}

function readable(expression: string): boolean {
  try {
    return RE2JS.compile(expression) instanceof RE2JS
  } catch {
    return false
  }
}

const ATOM = String.raw`(?:\\[pPuk]\{[^}]*\}|\\.|\[\^?(?:\\.|[^\]\\])*\]|[^\\()[\]{}|*+?^$])`
const PLAIN = new RegExp(String.raw`^\^(?:${ATOM}(?:\{\d+\})?)*(?:${ATOM}(?:[*+?]|\{\d+,\d*\})\??)?\$?$`, 'u')

/**
 * Tells whether the pattern begins with ^, has no groups or alternatives, and only its last part repeats by a count
 * that is not fixed. Such a pattern has one way to match a text.
 */
export function isPlain(pattern: string): boolean {
  return PLAIN.test(pattern)
}

/** Translates a pattern that RegExp accepts with the flag u. */
export function translatePattern(pattern: string): string | PatternFault {
  try {
    return new Translation(pattern).run()
  } catch (error) {
    if (error instanceof Unreadable) return error.fault
    throw error
  }
}
