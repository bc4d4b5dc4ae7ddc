/** Faults of templates: how they are made, ordered, and thrown while a text is read or rendered. */
import type { Fault } from '@assay/model/template'

/** Line and column, both counted from 1. */
export interface Position {
  line: number
  column: number
}

export function makeFault(
  code: string,
  position: Position,
  message: string,
  remedy: string,
  extra: { severity?: 'error' | 'warning'; partial?: string | null } = {},
): Fault {
  return {
    line: position.line,
    column: position.column,
    code,
    message,
    remedy,
    severity: extra.severity ?? 'error',
    partial: extra.partial ?? null,
  }
}

/**
 * A fault at an offset of the text that is read or evaluated. The caller that knows the text turns it into a fault with
 * a line.
 */
export class OffsetFault extends Error {
  readonly code: string
  readonly offset: number
  readonly remedy: string

  constructor(message: string, offset: number, remedy: string, code = 'liquid_syntax') {
    super(message)
    this.code = code
    this.offset = offset
    this.remedy = remedy
  }
}

/** A fault that ends a run, and others that are known by then. The job fails with `template_invalid`. */
export class TemplateFault extends Error {
  readonly fault: Fault

  constructor(fault: Fault, others: readonly Fault[] = []) {
    super([fault, ...others].map(sentenceOf).join(' Also: '))
    this.name = 'TemplateFault'
    this.fault = fault
  }
}

function sentenceOf({ partial, line, column, message, remedy }: Fault): string {
  const where = partial === null ? '' : `partial "${partial}", `
  return `${where}line ${line}, column ${column}: ${message} ${remedy}`
}

/** Throws all of these faults, in the order of the text, if there are any. */
export function throwFaults(faults: readonly Fault[]): void {
  const [first, ...others] = sortFaults([...faults])
  if (first) throw new TemplateFault(first, others)
}

/** Sorts faults by their place in the text. A repeated fault is left out. */
export function sortFaults(faults: Fault[]): Fault[] {
  const seen = new Set<string>()
  return faults
    .toSorted((a, b) => a.line - b.line || a.column - b.column || (a.code < b.code ? -1 : 1))
    .filter((fault) => {
      const key = `${fault.partial}:${fault.line}:${fault.column}:${fault.code}:${fault.message}`
      return seen.has(key) ? false : seen.add(key)
    })
}

/** Returns a function that gives the position of an offset into the text. */
export function positionsIn(text: string): (offset: number) => Position {
  let starts: number[] | null = null
  return (offset) => {
    starts ??= lineStarts(text)
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - starts[low]! + 1 }
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
