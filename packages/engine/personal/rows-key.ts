/** The key `rows` of a source or a metric. */

import type { RowRule } from '@assay/model/reader'
import type { Fault } from '@assay/model/template'
import { makeFault } from '../language/fault.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import type { YamlReading } from '../reading/yaml-reading.ts'
import { readRule } from './rule.ts'

/** The rule; null where there is none, or where it has a fault, which is then among `faults`. */
export function readRows(
  text: string | undefined,
  path: readonly (string | number)[],
  yaml: YamlReading,
  faults: Fault[],
): RowRule | null {
  if (text === undefined) return null
  const placeOf = yaml.positionInText(path)
  try {
    return readRule(text, placeOf)
  } catch (error) {
    if (!(error instanceof SqlTextFault)) throw error
    faults.push(ruleFault(error, placeOf))
    return null
  }
}

/** A fault of a rule at its place. */
export function ruleFault({ message, remedy, at }: SqlTextFault, placeOf: RowRule['placeOf']): Fault {
  return makeFault('bad_rule', placeOf(at), `rows: ${message}`, remedy)
}
