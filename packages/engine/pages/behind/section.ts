/** The rows behind the numbers of a page as HTML, folded, each row with the anchor to which its numbers lead. */
import { formatCount } from '../../printing/format.ts'
import { escapeHtml } from '../html.ts'
import { type BehindPage, cellText, type Field, rowId, type Sheet } from './sheets.ts'

const HEADING = 'The rows behind the numbers'

export function rowsSection({ sheets, fields, sourceOf }: BehindPage): string {
  const analyses = [...fields].map(([block, values]) => fieldsHtml(block, values, sourceOf(block)))
  const parts = [...sheets.map(sheetHtml), ...analyses]
  if (parts.length === 0) return ''
  return `<details class="computed rows"><summary>${HEADING}</summary><p>An underlined number above leads to its row here.</p>${parts.join('')}</details>\n`
}

function sheetHtml({ id, name, columns, rows, total }: Sheet): string {
  const isRight = columns.map((_, index) => rows.every(([, cells]) => isNumber(cells[index])))
  const cell = (tag: 'th' | 'td', text: string, index: number): string =>
    `<${tag}${isRight[index] ? ' class="right"' : ''}>${escapeHtml(text)}</${tag}>`
  const head = columns.map((column, index) => cell('th', column, index)).join('')
  const body = rows.map(([row, cells]) => {
    const shown = columns.map((_, index) => cell('td', cellText(cells[index]), index)).join('')
    return `<tr id="${escapeHtml(rowId(id, row))}"><td class="right">${formatCount(row + 1)}</td>${shown}</tr>`
  })
  const left =
    rows.length === total
      ? ''
      : `<p>${formatCount(rows.length)} of ${formatCount(total)} rows are shown: the first ones, and those that the text prints.</p>`
  return `<details id="${escapeHtml(id)}"><summary><code>${escapeHtml(name)}</code> ${countText(total)}</summary><div class="table" tabindex="0"><table><thead><tr><th class="right">Row</th>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>${left}</details>\n`
}

function countText(total: number): string {
  return total === 1 ? 'one row' : `${formatCount(total)} rows`
}

/** Tells whether a cell is a number. An empty cell counts as one. */
function isNumber(cell: unknown): boolean {
  return cell === null || cell === undefined || typeof cell === 'number'
}

function fieldsHtml(block: string, fields: readonly Field[], source: Sheet | undefined): string {
  const rows = fields.map(
    ({ id, says, value }) =>
      `<tr id="${escapeHtml(id)}"><td>${escapeHtml(says)}</td><td class="right">${escapeHtml(cellText(value))}</td></tr>`,
  )
  const name = escapeHtml(block)
  const from = source
    ? `<p>Computed from the rows of <a href="#${escapeHtml(source.id)}"><code>${escapeHtml(source.name)}</code></a>.</p>`
    : ''
  return `<details id="rows-${name}"><summary><code>${name}</code> values of the analysis</summary>${from}<div class="table" tabindex="0"><table><thead><tr><th>Value</th><th class="right">Unrounded</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></details>\n`
}
