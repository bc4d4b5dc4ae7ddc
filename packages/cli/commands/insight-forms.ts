/** Writes a form of an insight into a file or to the output. */
import { writeFile } from 'node:fs/promises'
import { UsageError } from '../exit.ts'
import { text } from '../options.ts'
import { out } from '../print.ts'

export const FORMS = ['markdown', 'json', 'html', 'pdf', 'xlsx', 'csv'] as const
export type Form = (typeof FORMS)[number]

/** The options of commands that print an insight. */
export const FORM_OPTIONS = {
  format: text('FORM', 'markdown (default), json, html, pdf, or of its tables xlsx, csv'),
  table: text('BLOCK', 'With xlsx and csv: only the table of this block'),
  out: text('FILE', 'Write it into this file instead of printing it'),
}

/** Throws before any work if a binary form would be written to a terminal. */
export function requirePlace(form: Form, file: string | undefined): void {
  const isText = form !== 'pdf' && form !== 'xlsx'
  if (isText || file !== undefined || !process.stdout.isTTY) return
  throw new UsageError(`${form} is not a text for a terminal: name a file, as in --out report.${form}.`)
}

export async function deliver(content: string | Uint8Array, file: string | undefined): Promise<void> {
  if (file !== undefined) await writeFile(file, content)
  else if (typeof content === 'string') out(content)
  else await new Promise<void>((sent) => process.stdout.write(content, () => sent()))
}
