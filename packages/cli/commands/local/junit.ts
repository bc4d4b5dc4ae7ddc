/** Writes the results of tests as JUnit XML, which services for builds and tests read. */
import { escapeHtml } from '@assay/engine/pages/html'
import { visible } from '@assay/engine/printing/escape'

export interface JunitCase {
  name: string
  /** The failures, one sentence each. Empty if the case passed. */
  failures: readonly string[]
  elapsed_ms: number
}

export interface JunitSuite {
  /** The name of the file. */
  name: string
  cases: readonly JunitCase[]
}

/**
 * Escapes an attribute. XML 1.0 has no control characters but tab and line ends, and turns a line end in an attribute
 * into a blank.
 */
const attribute = (text: string): string =>
  escapeHtml(visible(text)).replaceAll('\r', '').replaceAll('\n', '&#10;')

const seconds = (ms: number): string => (ms / 1000).toFixed(3)
const total = (cases: readonly JunitCase[]): number => cases.reduce((sum, one) => sum + one.elapsed_ms, 0)
const failed = (cases: readonly JunitCase[]): number =>
  cases.filter(({ failures }) => failures.length > 0).length

function caseXml(file: string, { name, failures, elapsed_ms }: JunitCase): string {
  const open = `    <testcase classname="${attribute(file)}" name="${attribute(name)}" time="${seconds(elapsed_ms)}"`
  if (failures.length === 0) return `${open}/>\n`
  const message = attribute(failures.join('\n'))
  return `${open}>\n      <failure message="${message}"/>\n    </testcase>\n`
}

export function junit(suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases)
  const numbers = (cases: readonly JunitCase[]): string =>
    `tests="${cases.length}" failures="${failed(cases)}" errors="0" time="${seconds(total(cases))}"`
  const inside = suites.map(
    ({ name, cases }) =>
      `  <testsuite name="${attribute(name)}" ${numbers(cases)}>\n${cases.map((one) => caseXml(name, one)).join('')}  </testsuite>\n`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="assay" ${numbers(all)}>\n${inside.join('')}</testsuites>\n`
}
