/**
 * Renders the surroundings of an insight's text as HTML: blockers above the headline, tiles below it, and after each
 * finding its evidence. Page, console and mail show the same.
 */
import type { Grade } from '@assay/model/insight'
import type { Proof, Reading, Tile, TileChange } from '@assay/model/reading'
import { opening } from '../verdicts/measure.ts'
import { CERTAINTY } from '../verdicts/words.ts'
import { escapeHtml } from './html.ts'
import { sparkline } from './sparkline.ts'

/** The most blockers above the headline. The text shows the rest. */
export const MOST_BLOCKERS = 3

export const gradeMark = (grade: Grade): string =>
  `<span class="grade ${grade}">${opening(CERTAINTY[grade])}</span>`

export function blockersHtml({ blockers }: Reading): string {
  if (blockers.length === 0) return ''
  const shown = blockers.slice(0, MOST_BLOCKERS).map((says) => `<p>${escapeHtml(says)}</p>`)
  const more = blockers.length - shown.length
  const rest = more > 0 ? `<p>${more} more below.</p>` : ''
  return `<aside class="blockers"><p><b>Read this first</b></p>${shown.join('')}${rest}</aside>\n`
}

/** Returns the parts as the JSON of an insight has them. */
export function readingView(reading: Reading) {
  return { ...reading, html: { above: blockersHtml(reading), below: tilesHtml(reading) } }
}

/** Renders the tiles. Mail clients show no drawings, so a mail has none. */
export function tilesHtml({ tiles }: Reading, { drawn = true }: { drawn?: boolean } = {}): string {
  if (tiles.length === 0) return ''
  return `<ul class="tiles">${tiles.map((tile) => tileHtml(tile, drawn)).join('')}</ul>\n`
}

function tileHtml(tile: Tile, drawn: boolean): string {
  const { label, text, when, changes, target, note, doubt, course } = tile
  const line = (kind: string, words: string | null): string =>
    words === null ? '' : `<span class="tile-${kind}">${escapeHtml(words)}</span>`
  const parts = [
    line('label', label),
    `<b class="tile-figure">${escapeHtml(text)}</b>`,
    line('when', when),
    drawn && course ? sparkline(course) : '',
    ...changes.map(changeHtml),
    line('note', target === null ? null : opening(target)),
    line('note', note === null ? null : opening(note)),
    line('doubt', doubt === null ? null : `Doubtful: ${doubt}`),
  ]
  return `<li class="tile${doubt === null ? '' : ' doubtful'}">${parts.join('')}</li>`
}

const ARROWS = { up: '↑', down: '↓', level: '→' } as const

function changeHtml({ direction, text, good }: TileChange): string {
  const kind = good === null ? '' : good ? ' good' : ' bad'
  const arrow = `<span aria-hidden="true">${ARROWS[direction]}</span> `
  return `<span class="tile-change${kind}">${arrow}${escapeHtml(opening(text))}</span>`
}

/** Renders the evidence. `anchor`: where the page shows what it was computed from; null for nowhere. */
export function proofHtml(proof: Proof, anchor: string | null): string {
  const { grade, evidence, notes, method, of, n } = proof
  const list = notes.map((note) => `<li>${escapeHtml(note)}</li>`).join('')
  const name = `<code>${escapeHtml(of)}</code>`
  const source = anchor === null ? name : `<a href="#${escapeHtml(anchor)}">${name}</a>`
  const how = `<p>Method: ${escapeHtml(method)}. Computed from ${source}, n = ${n.toLocaleString('en')}.</p>`
  return `<details class="proof"><summary>${gradeMark(grade)} <span class="proof-word">evidence</span></summary><div><p>${escapeHtml(evidence)}</p>${list === '' ? '' : `<ul>${list}</ul>`}${how}</div></details>\n`
}
