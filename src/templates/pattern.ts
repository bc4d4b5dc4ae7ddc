/**
 * Tests a value against a template's `pattern`: an ECMAScript regular expression with the flag u that must match
 * somewhere (anchor it with ^ and $). A pattern that could backtrack without end runs under a deadline, because V8 has
 * no other bound: (a+)+$ over 40 letters takes minutes, and the job's creation waits for it.
 */
import vm from 'node:vm'

export const MAX_PATTERN_INPUT = 10_000
const DEADLINE_MS = 100

/** Null where the pattern can be used, else why it cannot. */
export function patternFault(pattern: string): string | null {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp ? null : 'unreachable'
  } catch (error) {
    return (error as Error).message
  }
}

/** Patterns without groups that repeat, alternatives or references: at most quadratic in a short input. */
function isPlain(pattern: string): boolean {
  const bare = pattern.replace(/\\[^1-9k]/g, '').replace(/\[[^\]]*\]/g, 'c')
  const unbounded = bare.match(/[*+]|\{\d+,\}/g)?.length ?? 0
  return !/[(\\]/.test(bare) && unbounded <= 1
}

let sandbox: vm.Context | undefined

export type PatternOutcome = 'matches' | 'differs' | 'too_slow' | 'too_long'

export function testPattern(pattern: string, text: string): PatternOutcome {
  if (text.length > MAX_PATTERN_INPUT) return 'too_long'
  const expression = new RegExp(pattern, 'u')
  if (isPlain(pattern)) return expression.test(text) ? 'matches' : 'differs'
  sandbox ??= vm.createContext(Object.create(null))
  Object.assign(sandbox, { expression, text })
  try {
    const found: unknown = vm.runInContext('expression.test(text)', sandbox, { timeout: DEADLINE_MS })
    return found === true ? 'matches' : 'differs'
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'too_slow'
    throw error
  }
}
