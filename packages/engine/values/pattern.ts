/**
 * Tests values against a template's `pattern`: an ECMAScript regular expression with the flag u that must match somewhere
 * (anchor it with ^ and $). RE2 runs it, in time linear in the text. V8 would try all ways to match: `^(a+)+$` over 40
 * letters holds up the process for minutes.
 */
import { RE2JS, RE2JSException } from 're2js'
import { isPlain, type PatternFault, translatePattern } from './pattern-syntax.ts'

const MAX_PATTERN = 2000
export const MAX_PATTERN_INPUT = 10_000
/**
 * The most steps of one request. A step is one character at one instruction and takes 55 nanoseconds at worst, so a
 * request takes about 100 ms at most.
 */
export const MAX_STEPS = 2_000_000
/** The steps that take as long as reading one instruction of a pattern. */
const READING_STEPS = 200
/** The part of the steps that a plain pattern takes, because it is at one instruction at a time. 6,500 UUIDs take 35 ms. */
const PLAIN_SHARE = 16

interface Compiled {
  expression: RE2JS
  /** The steps that one character takes. */
  steps: number
}

export type PatternOutcome = 'matches' | 'differs' | 'too_much' | 'too_long'

/** The bound of quick work, a tenth of the whole bound: about 10 ms. */
const QUICK_STEPS = 200_000
/**
 * The most instructions to which the counts of a pattern may multiply, one within another, so that it is read in a
 * few milliseconds.
 */
const QUICK_COUNT = 200

/** Tells from its text whether a pattern is compiled in a few milliseconds. */
export function isQuick(pattern: string): boolean {
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)]
  const most = counts.reduce((all, [, least, up]) => all * Math.max(1, Number(least), Number(up ?? 0)), 1)
  return pattern.length <= QUICK_COUNT && most <= QUICK_COUNT
}

/** The patterns of one request or one template. Each is read once, and all their work together has a bound. */
export class PatternWork {
  #left: number
  readonly #read = new Map<string, Compiled>()

  /** `quick` sets a tenth of the bound, for callers that leave the rest to another process. */
  constructor(quick = false) {
    this.#left = quick ? QUICK_STEPS : MAX_STEPS
  }

  /** Returns null if the pattern can be used, else the fault. */
  fault(pattern: string): PatternFault | null {
    const read = this.#compile(pattern)
    return 'message' in read ? read : null
  }

  /**
   * Tests a text. The pattern must be without a fault. `too_much`: the bound is reached, and stays so for every later
   * test.
   */
  test(pattern: string, text: string): PatternOutcome {
    if (text.length > MAX_PATTERN_INPUT) return 'too_long'
    if (this.spent) return 'too_much'
    const read = this.#compile(pattern)
    if ('message' in read) throw new Error(`The pattern ${pattern} ${read.message}.`)
    this.#left -= (text.length + 1) * read.steps
    if (this.spent) return 'too_much'
    return read.expression.test(text) ? 'matches' : 'differs'
  }

  get spent(): boolean {
    return this.#left < 0
  }

  #compile(pattern: string): Compiled | PatternFault {
    const known = this.#read.get(pattern)
    if (known) return known
    const expression = compilePattern(pattern)
    if (!(expression instanceof RE2JS)) return expression
    const size = expression.programSize()
    this.#left -= size * READING_STEPS
    const compiled = { expression, steps: isPlain(pattern) ? Math.ceil(size / PLAIN_SHARE) : size }
    this.#read.set(pattern, compiled)
    return compiled
  }
}

function compilePattern(pattern: string): RE2JS | PatternFault {
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
