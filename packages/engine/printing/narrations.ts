/** Replaces the placeholders of narrations by the text of a language model, or by its substitute. */
import { type Edit, type Mark, movedMarks } from '@assay/model/provenance'
import type { Printed } from '../language/recorder.ts'
import { type Narrated, type Narration, narrationMarkdown, narrationPlaceholder } from './narrative.ts'

export function withNarrations(
  { text, marks }: Printed,
  answers: readonly { narration: Narration; narrated: Narrated }[],
): { markdown: string; provenance: Mark[] } {
  let printed: Printed = { text, marks }
  for (const { narration, narrated } of answers) {
    const from = narration.blocks.map((block) => ({ block }))
    const written = narrationMarkdown(narration, narrated)
    const own: Pick<Mark, 'from' | 'by'> = 'missing' in narrated ? { from } : { from, by: 'model' }
    printed = replaced(printed, narrationPlaceholder(narration.id), written, own)
  }
  return { markdown: printed.text, provenance: printed.marks }
}

/** Returns the text with `written` in place of each placeholder, under a mark of its own. */
function replaced(
  { text, marks }: Printed,
  placeholder: string,
  written: string,
  of: Pick<Mark, 'from' | 'by'>,
): Printed {
  const pieces = text.split(placeholder)
  const edits: Edit[] = []
  const own: Mark[] = []
  let [before, after] = [0, 0]
  for (const piece of pieces.slice(0, -1)) {
    const start = before + piece.length
    edits.push({ start, end: start + placeholder.length, length: written.length })
    own.push({ start: after + piece.length, end: after + piece.length + written.length, ...of })
    before = start + placeholder.length
    after += piece.length + written.length
  }
  const moved = [...movedMarks(marks, edits), ...own].toSorted((a, b) => a.start - b.start)
  return { text: pieces.join(written), marks: moved }
}
