/**
 * Fills the compile cache for the processes behind walls, which may only read it. It loads and runs what they do
 * before their first task, draws a chart, and ends. It gets no task and no data (../pool/compile-cache.ts).
 */
import { flushCompileCache } from 'node:module'
import { drawChart } from '../../charts/drawing/draw.ts'

await import('./child.ts')
await import('./render.ts')
await drawChart({
  data: { values: [{ day: '2000-01-01', n: 1 }] },
  mark: 'bar',
  encoding: { x: { field: 'day', type: 'temporal' }, y: { field: 'n', type: 'quantitative' } },
})
flushCompileCache()
process.exit()
