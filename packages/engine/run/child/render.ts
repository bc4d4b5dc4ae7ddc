/**
 * Renders an insight as HTML or PDF in an analysis process, since Markdown from templates and data can take more than linear
 * time. The time limit ends the process.
 */
import type { Behind } from '../../pages/behind/sheets.ts'
import { insightBody, insightPage } from '../../pages/insight-page.ts'
import { mailFigures } from '../../pages/mail-page.ts'
import type { RenderTask } from '../protocol.ts'

/**
 * The time limit in milliseconds. The longest page that is not cut takes a tenth of it, and so does the longest PDF
 * with the loading of Typst.
 */
export const RENDER_MS = 10_000
export const PDF_MS = 40_000

export async function renderTask(task: RenderTask): Promise<string> {
  if (task.form === 'mail') {
    const { markdown, charts, reading, cids } = task
    const around = { reading, folds: false }
    return insightBody(markdown, charts, mailFigures(new Map(Object.entries(cids))), around)
  }
  if (task.form === 'page') return insightPage(task.insight, task.drawings, behindOf(task.texts))
  // Typst has 28 MB, so only the first document loads it.
  const { insightPdf } = await import('../../pdf/compile.ts')
  return Buffer.from(await insightPdf(task.insight, task.drawings)).toString('base64')
}

type Texts = NonNullable<Extract<RenderTask, { form: 'page' | 'pdf' }>['texts']>

/**
 * Returns the rows behind a page. Old insights have no recorded places and so no marks: their rows are shown, but no
 * number links to them.
 */
function behindOf({ tables, analyses = '{}', provenance = '[]' }: Texts = {}): Behind | undefined {
  if (tables === undefined) return undefined
  return {
    tables: JSON.parse(tables) as Behind['tables'],
    analyses: JSON.parse(analyses) as Behind['analyses'],
    provenance: JSON.parse(provenance) as Behind['provenance'],
  }
}
