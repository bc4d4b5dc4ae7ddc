/** Describes how an upload is read, in words, and the other readings of a column whose reading is only likely. */
import type { NewFile } from '@assay/client'

export interface Choice {
  of: string
  says: string
  readings: { as: string; write: string }[]
}

interface ReadingLine {
  /** The subject of the line: a column, or the whole file. */
  of: string
  is: string
  /** How sure the reading is; null for a fact, such as a count. */
  sure: string | null
}

type Readings = NewFile['readings']

const WORDS: Record<string, string> = {
  ',': 'a comma',
  ';': 'a semicolon',
  '\t': 'a tab',
  '.': 'a point',
  ' ': 'a blank',
  '|': 'a bar',
}
const ORDERS: Record<string, string> = { dmy: 'the day first', mdy: 'the month first', ymd: 'the year first' }
const SURE: Record<string, string> = {
  declared: 'declared',
  settled: 'settled by the data',
  likely: 'likely',
}

const inWords = (mark: string): string => WORDS[mark] ?? `“${mark}”`

export function readingLines({ dialect, readings, list }: NewFile): ReadingLine[] {
  const lines: ReadingLine[] = []
  const add = (of: string, is: string, sure: string | null): void => void lines.push({ of, is, sure })
  if (list !== null) add('Rows', `those of the list “${list}”`, null)
  if (dialect) {
    const { encoding, separator, header, skipped, sheet } = dialect
    if (encoding) add('Encoding', encoding.is, SURE[encoding.sure]!)
    if (separator) add('Separator', inWords(separator.is), SURE[separator.sure]!)
    if (sheet) add('Sheet', `“${sheet.is}”`, SURE[sheet.sure]!)
    add('Names', header.is ? 'the first row has them' : 'no row has them', SURE[header.sure]!)
    if (skipped > 0)
      add('Passed over', skipped === 1 ? 'one line of title' : `${skipped} lines of title`, null)
  }
  for (const reading of readings) for (const [is, sure] of ofColumn(reading)) add(reading.name, is, sure)
  return lines
}

function ofColumn(reading: Readings[number]): [string, string | null][] {
  const { dates, decimal, thousands, currency, percent, minus, missing, repeats, doubt } = reading
  const told: [string, string | null][] = []
  const add = (is: string, sure: string | undefined): void => void told.push([is, sure ? SURE[sure]! : null])
  if (dates) add(`dates with ${ORDERS[dates.is] ?? `the form ${dates.is}`}`, dates.sure)
  if (decimal) add(`${inWords(decimal.is)} before decimals`, decimal.sure)
  if (thousands) add(`${inWords(thousands.is)} between thousands`, thousands.sure)
  if (currency) add(`numbers in ${currency.is}`, currency.sure)
  if (percent) add(percent.is === 'share' ? 'numbers with a %, as shares' : 'numbers with a %', percent.sure)
  if (minus)
    add(`negative numbers ${minus.is === 'brackets' ? 'in brackets' : 'with the minus behind'}`, minus.sure)
  for (const { mark, n } of missing ?? []) add(`“${mark}” is missing (${n} times)`, undefined)
  if (repeats !== undefined)
    add(`the name “${repeats}” stands twice, and this is the later column`, undefined)
  // A doubt with lines to choose from is shown among the choices.
  if (doubt && doubt.readings.length === 0) add(doubt.says, undefined)
  return told
}

/** Returns the choices for columns that are read in the usual way, each with its other reading. */
export function likelyChoices(readings: Readings): Choice[] {
  return readings.flatMap(({ name, percent, minus, decimal }) => {
    const choices: Choice[] = []
    const add = (says: string, as: string, write: string): void =>
      void choices.push({ of: name, says, readings: [{ as, write }] })
    if (percent?.sure === 'likely')
      add(
        '“12.5 %” is read as the share 0.125, as is usual. Choose 12.5 if that is meant:',
        '12.5',
        'percent: number',
      )
    if (minus?.sure === 'likely')
      add(
        `${minus.is === 'brackets' ? '“(5)”' : '“500-”'} is read as a negative number, as is usual. Choose texts if that is not meant:`,
        'texts',
        'minus: front',
      )
    if (decimal?.sure === 'likely') {
      const other = decimal.is === ',' ? '.' : ','
      add(
        `Its numbers are read with ${inWords(decimal.is)} before decimals, as in other columns. Choose the other mark if that is not meant:`,
        inWords(other),
        `decimal: ${JSON.stringify(other)}`,
      )
    }
    return choices
  })
}
