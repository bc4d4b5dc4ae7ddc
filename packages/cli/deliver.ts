/** Where the form of an insight goes: into a file, or to the output. */
import { writeFile } from 'node:fs/promises'
import { UsageError } from './exit.ts'
import { text } from './options.ts'
import { out } from './print.ts'

/** The forms of an insight; the last ones are no text. */
export const FORMS = ['markdown', 'json', 'html', 'pdf'] as const
export type Form = (typeof FORMS)[number]

/** The options of commands that print an insight. */
export const FORM_OPTIONS = {
  format: text('FORM', 'markdown (default), json, html or pdf'),
  out: text('FILE', 'Write it into this file instead of printing it'),
}

/** Throws before any work where a form that is no text would be written to a terminal. */
export function requirePlace(form: Form, file: string | undefined): void {
  if (form !== 'pdf' || file !== undefined || !process.stdout.isTTY) return
  throw new UsageError('A PDF is no text for a terminal: name a file, as in --out report.pdf.')
}

export async function deliver(content: string | Uint8Array, file: string | undefined): Promise<void> {
  if (file !== undefined) await writeFile(file, content)
  else if (typeof content === 'string') out(content)
  else await new Promise<void>((sent) => process.stdout.write(content, () => sent()))
}
