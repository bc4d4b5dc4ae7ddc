/** The one style sheet of an insight's page: reads well on a screen, in the dark, on paper, and needs nothing from elsewhere. */

import { colorProperties } from '../charts/marks/look.ts'
import { AROUND_STYLE } from './around-style.generated.ts'

/** The colours of a page, light and dark. */
export const COLOR_STYLE = `:root { color-scheme: light dark; ${colorProperties('light')} }
@media (prefers-color-scheme: dark) { :root { ${colorProperties('dark')} } }`

/** The colours of a page in a frame, by how dark the colour is that its site gives it. */
const FRAMED_STYLE = `:root[data-theme="light"] { color-scheme: light; ${colorProperties('light')} }
:root[data-theme="dark"] { color-scheme: dark; ${colorProperties('dark')} }`

export const PAGE_STYLE = `
${COLOR_STYLE}
${FRAMED_STYLE}
* { box-sizing: border-box; }
html { font-size: 17px; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; padding: 3rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
main, footer { max-width: 46rem; margin: 0 auto; overflow-wrap: break-word; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2.2em 0 0.6em; text-wrap: balance; }
h1 { font-size: 1.9rem; letter-spacing: -0.015em; margin-top: 0; }
h2 { font-size: 1.35rem; padding-bottom: 0.25em; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; }
p, ul, ol, pre, blockquote, figure, .table { margin: 0 0 1.1em; }
a { color: var(--accent); text-underline-offset: 0.15em; }
code, pre { font: 0.86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
code { background: var(--shade); border-radius: 3px; padding: 0.1em 0.3em; }
pre { background: var(--shade); border: 1px solid var(--line); border-radius: 6px; padding: 0.8em 1em; overflow-x: auto; }
pre code { background: none; padding: 0; font-size: 1em; }
ul, ol { padding-left: 1.5em; }
blockquote { padding-left: 1em; border-left: 3px solid var(--line); color: var(--quiet); }
hr { border: 0; border-top: 1px solid var(--line); margin: 2.5em 0; }
img { max-width: 100%; height: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; min-width: 50%; font-size: 0.92rem; }
th, td { padding: 0.38em 0.9em 0.38em 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--line); font-weight: 600; vertical-align: bottom; }
.sort { all: unset; cursor: pointer; }
.sort:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.sort:hover { text-decoration: underline; }
[aria-sort="ascending"] .sort::after { content: " ↑"; }
[aria-sort="descending"] .sort::after { content: " ↓"; }
.table-tools { display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; justify-content: flex-end; margin: -0.7em 0 1.3em; font-size: 0.8rem; color: var(--quiet); }
.table-tools input { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 5px; padding: 0.25em 0.6em; min-width: 0; width: 11rem; }
.table-tools button { font: inherit; color: var(--accent); background: none; border: 0; padding: 0.25em 0; cursor: pointer; }
.right { text-align: right; }
@media (max-width: 600px) { th.right { min-width: 6.5em; } }
.center { text-align: center; }
.short { white-space: nowrap; }
details.folded { margin: 2.2em 0; }
details.folded > summary, details.computed > summary { font-size: 1.25rem; color: var(--ink); }
details.computed { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
a.number { color: inherit; text-decoration: underline dotted; text-decoration-color: var(--quiet); }
a.number:hover { color: var(--accent); text-decoration-style: solid; }
td a.number { text-decoration: none; }
td a.number:hover { text-decoration: underline; }
.rows details { margin: 0.8em 0; }
.rows details .table { max-height: 34rem; overflow: auto; margin-top: 0.6em; }
tr:target, details:target > summary { background: color-mix(in srgb, var(--accent) 14%, transparent); }
summary { cursor: pointer; font-weight: 600; color: var(--quiet); }
figure.chart { margin: 1.8em 0; container-type: inline-size; position: relative; }
.drawing svg { display: block; width: 100%; height: auto; }
.drawing.narrow { display: none; max-width: 26rem; }
figure.chart { --chart-page: var(--paper); --chart-ink: var(--ink); --chart-quiet: var(--quiet); }
.drawing { touch-action: pan-y; }
.drawing:focus-visible { outline: 2px solid var(--accent); outline-offset: 4px; border-radius: 2px; }
.chart-marks { pointer-events: none; }
.chart-marks line { stroke: var(--quiet); stroke-width: 1; }
.chart-marks circle { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
.chart-tip {
  position: fixed; z-index: 9; pointer-events: none; max-width: 17rem; padding: 0.4rem 0.7rem; font-size: 0.8rem; line-height: 1.45;
  background: var(--paper); border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 4px 16px rgb(0 0 0 / 18%);
}
.chart-tip[hidden] { display: none; }
.chart-tip div { display: flex; gap: 1rem; justify-content: space-between; }
.chart-tip span { color: var(--quiet); }
@container (max-width: 664px) { .drawing.wide:has(+ .narrow) { display: none; } .drawing.narrow { display: block; } }
figcaption { color: var(--quiet); font-size: 0.84rem; margin-top: 0.4em; }
figure.chart > figcaption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; margin: 0; }
${AROUND_STYLE}
footer { color: var(--quiet); font-size: 0.84rem; border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; }
.framed body { padding: 1rem 1.25rem; }
@media print {
  :root { ${colorProperties('light')} --ink: #000000; --accent: #000000; }
  html { font-size: 11pt; }
  body { padding: 0; }
  main, footer { max-width: none; }
  h1, h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  pre { white-space: pre-wrap; }
  .tile, .blockers, .drawing { break-inside: avoid; }
  @page { size: A4; margin: 18mm 16mm; }
  .table-tools { display: none; }
  details.proof:not([open]) .proof-word { display: none; }
  thead { display: table-header-group; }
}
`
