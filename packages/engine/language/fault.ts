/** Making faults, and the exception that carries one out of a render. */
import type { Fault } from '@assay/model/template'

/** Counted from 1. */
export interface Place {
  line: number
  column: number
}

export function makeFault(
  code: string,
  place: Place,
  message: string,
  remedy: string,
  extra: { severity?: 'error' | 'warning'; partial?: string | null } = {},
): Fault {
  return {
    line: place.line,
    column: place.column,
    code,
    message,
    remedy,
    severity: extra.severity ?? 'error',
    partial: extra.partial ?? null,
  }
}

/** A fault that shows while a template is rendered. The job fails with it: `template_invalid`. */
export class TemplateFault extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    const where = fault.partial === null ? '' : `partial "${fault.partial}", `
    super(`${where}line ${fault.line}, column ${fault.column}: ${fault.message} ${fault.remedy}`)
    this.name = 'TemplateFault'
    this.fault = fault
  }
}

/** Faults in the order of the text; one for each place and code. */
export function sortFaults(faults: Fault[]): Fault[] {
  const seen = new Set<string>()
  return faults
    .toSorted((a, b) => a.line - b.line || a.column - b.column || (a.code < b.code ? -1 : 1))
    .filter((fault) => {
      const key = `${fault.partial}:${fault.line}:${fault.column}:${fault.code}:${fault.message}`
      return seen.has(key) ? false : seen.add(key)
    })
}
