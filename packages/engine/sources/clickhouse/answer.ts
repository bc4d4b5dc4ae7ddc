/**
 * Reads a small answer as lines of JSON, with the cells that the engine would give for the same types. No file is
 * written, and no further request asks for the types, which stand in the answer.
 */
import type { Cell } from '@assay/model/insight'
import { shortest } from '../../duckdb/cells.ts'
import type { Answer } from '../../sufficient/ask.ts'

export const ANSWER_FORMAT = 'JSONCompactEachRowWithNamesAndTypes'

/** Decimals keep their zeros, as the engine writes them. */
export const ANSWER_SETTINGS: Readonly<Record<string, string>> = {
  output_format_decimal_trailing_zeros: '1',
}

type Convert = (value: string | number | boolean) => Cell

const asText: Convert = String
const integer: Convert = (value) => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}
const WORDS: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  '-nan': Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
}
const double: Convert = (value) =>
  typeof value === 'string' ? (WORDS[value] ?? Number(value)) : Number(value)
/** Writes a moment to the microsecond, without zeros at its end. */
const moment: Convert = (value) =>
  String(value).replace(/(?:\.(\d{1,6})\d*)?Z$/, (_, fraction: string | undefined) => {
    const kept = (fraction ?? '').replace(/0+$/, '')
    return kept === '' ? 'Z' : `.${kept}Z`
  })

const FORMS: readonly [RegExp, Convert][] = [
  [/^U?Int(?:8|16|32|64|128)$/, integer],
  [/^Float64$/, double],
  [/^Float32$/, (value) => shortest(Math.fround(double(value) as number))],
  [/^Decimal\((?:[1-9]|[12]\d|3[0-8]), /, asText],
  [/^Bool$/, (value) => value === true],
  [/^(?:String$|Enum(?:8|16)\()/, asText],
  [/^Date(?:32)?$/, asText],
  [/^DateTime(?:64)?(?:\(|$)/, moment],
  [/^Nothing$/, asText],
]
const WRAPPED = /^(?:Nullable|LowCardinality)\((.*)\)$/s

function formOf(type: string): Convert | null {
  const inner = WRAPPED.exec(type)?.[1]
  if (inner !== undefined) return formOf(inner)
  return FORMS.find(([form]) => form.test(type))?.[1] ?? null
}

/** Returns the rows of a text in this format. Returns null if a type needs another form. */
export function readAnswer(text: string): Answer[] | null {
  const [names, types, ...rows] = text.trimEnd().split('\n')
  const forms = (JSON.parse(types!) as string[]).map(formOf)
  if (forms.includes(null)) return null
  const columns = JSON.parse(names!) as string[]
  return rows.map((line) => {
    const cells = JSON.parse(line) as (string | number | boolean | null)[]
    return Object.fromEntries(
      columns.map((name, index) => {
        const cell = cells[index]!
        return [name, cell === null ? null : forms[index]!(cell)]
      }),
    )
  })
}
