/**
 * Filters SVG before it is put into a page: reads it tag by tag and drops everything that is not on the lists. The drawings
 * are Vega's, but their titles and labels come from data. Ids get the chart's prefix, so that two charts on a page do not
 * share clip paths.
 */
import { PROPERTY_OF_COLOR } from '../marks/look.ts'

const TAGS = new Set(
  'svg g path rect line circle ellipse polygon polyline text tspan title desc defs clipPath linearGradient radialGradient stop'.split(
    ' ',
  ),
)
const ATTRIBUTES = new Set(
  (
    'class d x y x1 y1 x2 y2 dx dy cx cy r rx ry fx fy width height viewBox version transform points offset role ' +
    'fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap ' +
    'stroke-linejoin stroke-miterlimit opacity font-family font-size font-style font-weight text-anchor ' +
    'dominant-baseline clip-path clip-rule id gradientUnits gradientTransform stop-color stop-opacity ' +
    'data-places data-panels pointer-events xmlns aria-hidden aria-label aria-roledescription'
  ).split(' '),
)
const TAG = /<(\/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[A-Za-z_:][\w:.-]*="[^"<]*")*)\s*(\/?)>/y
const ATTRIBUTE = /\s+([A-Za-z_:][\w:.-]*)="([^"<]*)"/g

/** Returns a colour as the page's own, for dark pages and for paper. */
function inPage(value: string): string {
  const property = PROPERTY_OF_COLOR.get(value)
  return property === undefined ? value : `var(${property}, ${value})`
}

/**
 * Filters SVG. `prefix`: put before each id; it holds letters, digits and "-" only. `recolor`: whether to use the
 * page's own colours.
 */
export function guardSvg(svg: string, prefix: string, { recolor = true } = {}): string {
  let kept = ''
  for (let at = 0; at < svg.length; ) {
    const begin = svg.indexOf('<', at)
    kept += textOf(svg.slice(at, begin < 0 ? svg.length : begin))
    if (begin < 0) break
    TAG.lastIndex = begin
    const match = TAG.exec(svg)
    if (!match) {
      kept += '&lt;'
      at = begin + 1
      continue
    }
    const [all, closing, name, attributes, alone] = match
    if (TAGS.has(name!))
      kept += `<${closing}${name}${closing ? '' : keptAttributes(attributes!, prefix, recolor)}${alone}>`
    at = begin + all.length
  }
  return kept
}

function textOf(text: string): string {
  return text.replaceAll('>', '&gt;')
}

function keptAttributes(attributes: string, prefix: string, recolor: boolean): string {
  let kept = ''
  for (const [, name, value] of attributes.matchAll(ATTRIBUTE)) {
    if (!ATTRIBUTES.has(name!)) continue
    const text = name === 'id' ? `${prefix}-${value}` : value!
    // A paint may only refer to a definition of the same drawing.
    const inner = text.replace(/url\(\s*#([\w-]+)\s*\)/g, (_, id) => `url(#${prefix}-${String(id)})`)
    if (/url\(/i.test(inner.replaceAll(`url(#${prefix}-`, ''))) continue
    const shown = recolor && (name === 'fill' || name === 'stroke') ? inPage(inner) : inner
    kept += ` ${name}="${shown}"`
  }
  return kept
}
