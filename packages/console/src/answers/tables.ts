/**
 * Makes tables answer: a click on a heading sorts, a field filters, and a button saves the rows that are shown as CSV.
 * The shared page runs the same text (`packages/engine/pages/answer.generated.ts`), so this file imports only what
 * that text also holds. A page without scripts shows the table as it stands.
 */
import { csvField, csvOf } from '@assay/model/csv'

/** The least rows for a filter. Smaller tables need none. */
export const FILTERED_FROM = 6

/** Makes every table of a page answer. */
export function answerTables(root: ParentNode): void {
  for (const place of root.querySelectorAll<HTMLElement>('div.table')) {
    const table = place.querySelector('table')
    const body = table?.tBodies[0]
    if (!table || !body || body.rows.length < 2) continue
    sortByHeadings(table, body)
    place.after(toolsOf(table, body))
  }
}

function sortByHeadings(table: HTMLTableElement, body: HTMLTableSectionElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])]
  for (const [column, head] of heads.entries()) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'sort'
    button.append(...head.childNodes)
    head.append(button)
    head.setAttribute('aria-sort', 'none')
    button.addEventListener('click', () => {
      const descending = head.getAttribute('aria-sort') !== 'descending'
      for (const other of heads) other.setAttribute('aria-sort', 'none')
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending')
      const textOf = (row: HTMLTableRowElement): string => row.cells[column]?.textContent?.trim() ?? ''
      body.append(...[...body.rows].toSorted((a, b) => compareTexts(textOf(a), textOf(b), descending)))
    })
  }
}

/**
 * Compares numbers by value whatever their separators and units, and other texts by letters. Empty texts come last.
 */
export function compareTexts(left: string, right: string, descending: boolean): number {
  if (left === '' || right === '') return (left === '' ? 1 : 0) - (right === '' ? 1 : 0)
  const difference = shownNumber(left) - shownNumber(right)
  const order = Number.isNaN(difference) ? left.localeCompare(right, 'en', { numeric: true }) : difference
  return descending ? -order : order
}

/** Reads "−1,204.5%" as -1204.5. Returns NaN for a text that is not a number. */
function shownNumber(text: string): number {
  const plain = text.replaceAll(/[,\s%$€£¥+]/g, '').replace(/^[−–]/, '-')
  return plain === '' ? Number.NaN : Number(plain)
}

function toolsOf(table: HTMLTableElement, body: HTMLTableSectionElement): HTMLElement {
  const tools = document.createElement('div')
  tools.className = 'table-tools'
  if (body.rows.length >= FILTERED_FROM) tools.append(...filterOf(body))
  const save = document.createElement('button')
  save.type = 'button'
  save.textContent = 'Save as CSV'
  save.addEventListener('click', () => {
    const rows = [...(table.tHead?.rows ?? []), ...[...body.rows].filter((row) => !row.hidden)]
    saveCsv(rows.map((row) => [...row.cells].map((cell) => cell.textContent?.trim() ?? '')))
  })
  tools.append(save)
  return tools
}

function filterOf(body: HTMLTableSectionElement): HTMLElement[] {
  const field = document.createElement('input')
  field.type = 'search'
  field.placeholder = 'Filter rows'
  field.setAttribute('aria-label', 'Filter rows')
  const count = document.createElement('span')
  count.setAttribute('role', 'status')
  field.addEventListener('input', () => {
    const wanted = field.value.trim().toLowerCase()
    const rows = [...body.rows]
    for (const row of rows) row.hidden = !(row.textContent ?? '').toLowerCase().includes(wanted)
    const shown = rows.filter((row) => !row.hidden).length
    count.textContent = wanted === '' ? '' : `${shown} of ${rows.length} rows`
  })
  return [field, count]
}

/** Returns texts as CSV. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
export function textsCsv(rows: readonly (readonly string[])[]): string {
  return csvOf(rows.map((row) => row.map(csvField)))
}

function saveCsv(rows: readonly (readonly string[])[]): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([textsCsv(rows)], { type: 'text/csv;charset=utf-8' }))
  link.download = 'table.csv'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
