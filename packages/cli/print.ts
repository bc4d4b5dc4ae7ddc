/** Prints the output of commands: plain tables, JSON, and the progress of a job on stderr. */
import { visible } from '@assay/engine/printing/escape'
import type { JobStatus, Progress } from '@assay/model/job'

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

/** Writes text that may be of others. A terminal gets control characters as visible text; a file gets every byte. */
function write(text: string, stream: Output): void {
  stream.write(stream.isTTY ? visible(text) : text)
}

export function out(text: string, stream: Output = process.stdout): void {
  write(text, stream)
}

export function say(text: string, stream: Output = process.stderr): void {
  write(`${text}\n`, stream)
}

/** Words a count: "1 row", "2 rows". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function printJson(value: unknown): void {
  out(`${JSON.stringify(value, null, 2)}\n`)
}

export type Cell = string | number | null

/** Returns text that cannot begin a row or a column of its own. */
const inRow = (text: string): string => text.replaceAll(/[\t\r\n\u0085\u2028\u2029]+/g, ' ')

/** Formats a table. Columns are as wide as their widest cell, with two spaces between them. Null is shown as "-". */
export function table(header: string[], rows: Cell[][]): string {
  const cells = [header, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : inRow(String(cell)))))]
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const line = (row: string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return `${cells.map(line).join('\n')}\n`
}

const BAR_CELLS = 24
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Draws a bar: "██████▌                  27 %". */
export function bar(percent: number): string {
  const share = Math.min(100, Math.max(0, percent)) / 100
  const eighths = Math.round(share * BAR_CELLS * 8)
  const filled = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!
  return `${filled.padEnd(BAR_CELLS)} ${String(Math.round(share * 100)).padStart(3)} %`
}

export interface ProgressLine {
  show(status: JobStatus, progress: Progress): void
  end(): void
}

/** Shows progress: on a terminal one line that is overwritten, elsewhere a line for each change of state or step. */
export function progressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  let shown = ''
  let drawn = false
  return {
    show(status, { percent, step, steps, label }) {
      const where = steps > 0 ? ` ${step} of ${steps}${label ? `: ${inRow(label)}` : ''}` : ''
      if (stream.isTTY) {
        const text = visible(`${status.padEnd(9)} ${bar(status === 'completed' ? 100 : percent)}${where}`)
        const letters = Array.from(text).slice(0, (stream.columns || 80) - 1)
        stream.write(`\r\x1b[K${letters.join('')}`)
        drawn = true
        return
      }
      const text = `${status}${where}`
      if (text !== shown) stream.write(`${text}\n`)
      shown = text
    },
    end() {
      if (drawn) stream.write('\n')
      drawn = false
    },
  }
}
