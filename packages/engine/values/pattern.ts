/**
 * Tests values against a template's `pattern`: an ECMAScript regular expression with the flag u that must match somewhere
 * (anchor it with ^ and $). RE2 runs it, in time linear in the text: V8 would go back through all ways to match, and
 * `^(a+)+$` over 40 letters holds up the process for minutes.
 */
import { RE2JS, RE2JSException } from 're2js'
import { type SyntaxFault, translatePattern } from './pattern-syntax.ts'

const MAX_PATTERN = 2000
export const MAX_PATTERN_INPUT = 10_000
/** A step is one character at one instruction: 0.1 microseconds at worst, so that one request takes a second at most. */
export const MAX_STEPS = 10_000_000
/** What reading one instruction of a pattern costs beside a step. */
const READING_STEPS = 150

export type PatternOutcome = 'matches' | 'differs' | 'too_much' | 'too_long'

/** The patterns of one request or one template, each read once, with a bound on all their work together. */
export class PatternWork {
  #left = MAX_STEPS
  readonly #read = new Map<string, RE2JS>()

  /** Null where the pattern can be used, else why it cannot. */
  fault(pattern: string): SyntaxFault | null {
    const read = this.#compile(pattern)
    return read instanceof RE2JS ? null : read
  }

  /** The pattern must be without a fault. `too_much`: the bound is reached, for each that follows, too. */
  test(pattern: string, text: string): PatternOutcome {
    if (text.length > MAX_PATTERN_INPUT) return 'too_long'
    if (this.spent) return 'too_much'
    const read = this.#compile(pattern)
    if (!(read instanceof RE2JS)) throw new Error(`The pattern ${pattern} ${read.message}.`)
    this.#left -= (text.length + 1) * read.programSize()
    if (this.spent) return 'too_much'
    return read.test(text) ? 'matches' : 'differs'
  }

  get spent(): boolean {
    return this.#left < 0
  }

  #compile(pattern: string): RE2JS | SyntaxFault {
    const known = this.#read.get(pattern)
    if (known) return known
    const read = compilePattern(pattern)
    if (!(read instanceof RE2JS)) return read
    this.#left -= read.programSize() * READING_STEPS
    this.#read.set(pattern, read)
    return read
  }
}

function compilePattern(pattern: string): RE2JS | SyntaxFault {
  if (pattern.length > MAX_PATTERN) {
    return {
      message: `it has ${pattern.length} characters; ${MAX_PATTERN} is the most`,
      remedy: 'Use "enum" for a list of texts.',
    }
  }
  try {
    RegExp(pattern, 'u')
  } catch (error) {
    return { message: (error as Error).message, remedy: 'Correct it: ECMAScript with the flag u.' }
  }
  const translated = translatePattern(pattern)
  if (typeof translated !== 'string') return translated
  try {
    return RE2JS.compile(translated)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return {
      message: error.message,
      remedy: 'Use counts of at most 1000, also where one is within another and they multiply.',
    }
  }
}
