/**
 * Makes polluted tables, for tests and the table in docs/files.md. One small table of ours is written in the ways in
 * which published collections of CSV files are polluted. The kinds are those of Pollock (Vitagliano, Hameed, Jiang,
 * Reisener, Wu and Naumann, "Pollock: A Data Loading Benchmark", PVLDB 16(8), 2023: the list of its files) and the
 * dialects of CleverCSV's corpora (van den Burg, Nazabal and Sutton, "Wrangling messy CSV files by detecting row and
 * type patterns", 2019). Every text is made here; none of theirs is copied.
 */

export interface Polluted {
  corpus: 'Pollock' | 'CleverCSV'
  kind: string
  files: { text: string; right: Right | null }[]
}

/** The result of a correct reading; null if the file must be refused. */
export interface Right {
  names: string[]
  rows: (string | number | null)[][]
}

const NAMES = ['day', 'at', 'n', 'code', 'price', 'item', 'about', 'page', 'notes']
/** The items: a text with a comma, one with a doubled quote, one with an apostrophe, and empty values. */
const ITEMS = ['Rope, 20 m', 'Tent', 'Pipe 12" wide', "Climber's bag", 'Stove', 'Lamp; small']
const ROWS = Array.from({ length: 12 }, (_, row) => [
  `${row + 13}/03/2021`,
  `0${row % 9}:${row % 2 === 0 ? '00' : '30'}`,
  String(row % 5),
  `${'ABC'[row % 3]}X-${1000 + 37 * row}`,
  `${20 + 3 * row}.5`,
  ITEMS[row % ITEMS.length]!,
  row % 4 === 0 ? `Good for ${row + 2} days, and light` : `The one of ${2000 + row}`,
  `https://example.com/items/${row}`,
  '',
])
const READ: Right['rows'] = ROWS.map(([day, at, n, code, price, item, about, page]) => [
  `2021-03-${day!.slice(0, 2)}`,
  `${at}:00`,
  Number(n),
  code!,
  Number(price),
  item!,
  about!,
  page!,
  null,
])
const RIGHT: Right = { names: NAMES, rows: READ }

interface Writing {
  separator?: string
  quote?: string
  escape?: string
  end?: string
  /** True to write quotes only around values that need them. */
  bare?: boolean
}

function lineOf(
  values: readonly string[],
  { separator = ',', quote = '"', escape = quote, bare = false }: Writing = {},
): string {
  const written = values.map((value) => {
    const needs = [separator, quote, '\n', ...(separator.length > 1 ? [separator[0]!] : [])]
    if (quote === '' || (bare && !needs.some((one) => one !== '' && value.includes(one)))) return value
    return `${quote}${value.replaceAll(quote, `${escape}${quote}`)}${quote}`
  })
  return written.join(separator)
}

function textOf(rows: readonly (readonly string[])[], writing: Writing = {}): string {
  const end = writing.end ?? '\r\n'
  return rows.map((row) => lineOf(row, writing) + end).join('')
}

const WHOLE = [NAMES, ...ROWS]

const one = (text: string, right: Right | null = RIGHT): Polluted['files'] => [{ text, right }]

/** Makes a file for each of the lines (0: the row of names) and each column. `write` returns the changed line. */
function each(
  polluted: readonly number[],
  write: (row: readonly string[], column: number) => string | null,
): Polluted['files'] {
  return polluted.flatMap((at) =>
    NAMES.flatMap((_, column) => {
      const line = write(WHOLE[at]!, column)
      if (line === null) return []
      const lines = WHOLE.map((values, index) => (index === at ? line : lineOf(values)))
      return [{ text: `${lines.join('\r\n')}\r\n`, right: null }]
    }),
  )
}

const joinedNames = (times: number): Right => ({
  names: NAMES.map((name) => Array.from({ length: times }, () => name).join(' ')),
  rows: READ,
})

/** Makes a file of two tables. `columns`: those of the second table. */
function twoTables(columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `other${index}`)
  const rows = [1, 2, 3].map((row) => names.map((_, index) => String(row * 10 + index)))
  return `${textOf(WHOLE)}\r\n${textOf([names, ...rows])}`
}

function pollock(lines: readonly number[]): Omit<Polluted, 'corpus'>[] {
  const lessSeparator = each(lines, (row, column) => {
    if (column === 0) return null
    const cells = row.map((value) => lineOf([value]))
    return `${cells.slice(0, column).join(',')}${cells.slice(column).join(',')}`
  })
  const moreSeparator = each(lines, (row, column) => {
    const cells = row.map((value) => lineOf([value]))
    return [...cells.slice(0, column), '', ...cells.slice(column)].join(',')
  })
  const extraQuote = each(lines, (row, column) =>
    row
      .map((value, index) => (index === column ? `""${lineOf([value]).slice(1)}` : lineOf([value])))
      .join(','),
  )
  const spaced = lines.map((at) => ({
    text: WHOLE.map((row, index) => `${lineOf(row, index === at ? { separator: ' ' } : {})}\r\n`).join(''),
    right: null,
  }))
  return [
    { kind: 'standard file', files: one(textOf(WHOLE)) },
    { kind: 'no byte at all', files: one('', null) },
    { kind: 'no line break at the end', files: one(textOf(WHOLE).trimEnd()) },
    { kind: 'two line breaks at the end', files: one(`${textOf(WHOLE)}\r\n`) },
    {
      kind: 'no row of names',
      files: one(textOf(ROWS), { names: NAMES.map((_, index) => `column${index}`), rows: READ }),
    },
    { kind: 'two rows of names', files: one(textOf([NAMES, ...WHOLE]), joinedNames(2)) },
    { kind: 'three rows of names', files: one(textOf([NAMES, NAMES, ...WHOLE]), joinedNames(3)) },
    { kind: 'lines of title, then an empty one', files: one(`Items\r\nof spring\r\n\r\n${textOf(WHOLE)}`) },
    { kind: 'a second table with more columns', files: one(twoTables(NAMES.length + 3), null) },
    { kind: 'a second table with fewer columns', files: one(twoTables(NAMES.length - 3), null) },
    { kind: 'a second table with as many columns', files: one(twoTables(NAMES.length), null) },
    { kind: 'the row of names alone', files: one(textOf([NAMES]), { names: NAMES, rows: [] }) },
    { kind: 'one row', files: one(textOf(WHOLE.slice(0, 2)), { names: NAMES, rows: READ.slice(0, 1) }) },
    { kind: 'a separator too few (each row and column)', files: lessSeparator },
    { kind: 'a separator too many (each row and column)', files: moreSeparator },
    { kind: 'separated by blanks', files: one(textOf(WHOLE, { separator: ' ' })) },
    { kind: 'separated by comma and blank', files: one(textOf(WHOLE, { separator: ', ' })) },
    { kind: 'separated by semicolons', files: one(textOf(WHOLE, { separator: ';' })) },
    { kind: 'separated by tabs', files: one(textOf(WHOLE, { separator: '\t' })) },
    { kind: 'apostrophes as quotes', files: one(textOf(WHOLE, { quote: "'" })) },
    { kind: 'backslash before quotes', files: one(textOf(WHOLE, { escape: '\\' })) },
    { kind: 'nothing before quotes', files: one(textOf(WHOLE, { escape: '' }), null) },
    { kind: 'lines end with LF', files: one(textOf(WHOLE, { end: '\n' })) },
    { kind: 'lines end with CR', files: one(textOf(WHOLE, { end: '\r' })) },
    { kind: 'a quote too many (each row and column)', files: extraQuote },
    { kind: 'one row separated by blanks (each row)', files: spaced },
  ]
}

/** A table of values without any mark that could divide them. */
const PLAIN: Right = {
  names: ['id', 'town', 'size'],
  rows: [
    [1, 'Ulm', 12.5],
    [2, 'Bonn', 30.25],
    [3, 'Kiel', 24.75],
    [4, 'Jena', 11.5],
  ],
}
const plain = (writing: Writing): Polluted['files'] =>
  one(
    textOf([PLAIN.names, ...PLAIN.rows.map((row) => row.map(String))], { end: '\n', bare: true, ...writing }),
    PLAIN,
  )

function cleverCsv(): Omit<Polluted, 'corpus'>[] {
  const kinds = [
    [',', 'commas'],
    [';', 'semicolons'],
    ['\t', 'tabs'],
    ['|', 'bars'],
    ['~', 'tildes'],
    ['^', 'carets'],
    [':', 'colons'],
    [' ', 'blanks'],
    ['#', 'hashes'],
  ] as const
  return [
    ...kinds.map(([separator, name]) => ({
      kind: `plain values, separated by ${name}`,
      files: plain({ separator }),
    })),
    { kind: 'quotes only where needed', files: one(textOf(WHOLE, { bare: true })) },
    { kind: 'apostrophes only where needed', files: one(textOf(WHOLE, { bare: true, quote: "'" })) },
    { kind: 'semicolons, apostrophes around all', files: one(textOf(WHOLE, { separator: ';', quote: "'" })) },
    { kind: 'tabs, backslash before quotes', files: one(textOf(WHOLE, { separator: '\t', escape: '\\' })) },
    {
      kind: 'no quotes, backslash before separators',
      files: one(
        `id,town,size\n${PLAIN.rows.map(([id, town, size]) => `${id},${town}\\, north,${size}\n`).join('')}`,
        { names: PLAIN.names, rows: PLAIN.rows.map(([id, town, size]) => [id!, `${town}, north`, size!]) },
      ),
    },
    {
      kind: 'one column, no separator',
      files: one('town\nBad Ems\nBonn\nBad Orb\n', {
        names: ['town'],
        rows: [['Bad Ems'], ['Bonn'], ['Bad Orb']],
      }),
    },
  ]
}

/**
 * Returns the files of all kinds. `lines`: the lines that a kind of pollution changes, one at a time; 0 is the row of
 * names and 12 the last row.
 */
export function pollutedFiles(lines: readonly number[] = WHOLE.map((_, at) => at)): Polluted[] {
  return [
    ...pollock(lines).map((kind) => ({ corpus: 'Pollock' as const, ...kind })),
    ...cleverCsv().map((kind) => ({ corpus: 'CleverCSV' as const, ...kind })),
  ]
}
