/**
 * The HTML of an insight, made in an analysis process: Markdown that a template or data has made can cost more than linear
 * time, and nobody else waits here. The limit of time ends the process.
 */
import { insightBody, insightPage } from '../pages/insight-page.ts'
import { mailFigures } from '../pages/mail-page.ts'
import type { RenderTask } from './protocol.ts'

/** From the task's start: the longest page that is not cut takes a tenth of it. */
export const RENDER_MS = 10_000

export function renderTask(task: RenderTask): string {
  if (task.form === 'page') return insightPage(task.insight, task.svgs)
  return insightBody(task.markdown, task.charts, mailFigures(new Map(Object.entries(task.cids))))
}
