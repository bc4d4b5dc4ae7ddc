/**
 * Renders an insight as HTML in an analysis process, since Markdown from templates and data can take more than linear
 * time. The time limit ends the process.
 */
import { insightBody, insightPage } from '../../pages/insight-page.ts'
import { mailFigures } from '../../pages/mail-page.ts'
import type { RenderTask } from '../protocol.ts'

/** The longest page that is not cut takes a tenth of this time. */
export const RENDER_MS = 10_000

export function renderTask(task: RenderTask): string {
  if (task.form === 'page') return insightPage(task.insight, task.drawings)
  const { markdown, charts, reading, cids } = task
  return insightBody(markdown, charts, mailFigures(new Map(Object.entries(cids))), { reading, folds: false })
}
