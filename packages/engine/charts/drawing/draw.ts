/**
 * Draws a Vega-Lite specification as SVG, without a canvas or a browser. Vega is loaded with the first chart (70 packages).
 * The process must run under TZ=UTC: Vega reads and prints times in the machine's zone otherwise, and the bytes would differ
 * from one machine to the next.
 */
import { textWidthOf } from '../text-width.ts'
import { placesOf, type SceneItem } from './places.ts'
import { fitted } from './size.ts'

/** Refuses data by address, so that nothing is fetched and no file is read. */
const refuse = (): Promise<never> => Promise.reject(new Error('A chart may only hold its own data.'))

const silent = {
  level: () => silent,
  error: () => silent,
  warn: () => silent,
  info: () => silent,
  debug: () => silent,
}

interface Metrics {
  width(item: { fontSize?: number; limit?: number }, text: string | number | null | undefined): number
}

let loading: Promise<[typeof import('vega'), typeof import('vega-lite')]> | undefined

async function load(): Promise<[typeof import('vega'), typeof import('vega-lite')]> {
  const both = await Promise.all([import('vega'), import('vega-lite')])
  // Vega estimates 0.8 of the size for each letter without a canvas, which leaves much of a phone empty.
  const { textMetrics } = both[0] as unknown as { textMetrics: Metrics }
  textMetrics.width = ({ fontSize = 11, limit = 0 }, text) => {
    const width = textWidthOf(String(text ?? ''), fontSize)
    // A text that is cut takes a little more room than its limit.
    return limit > 0 ? Math.min(limit + 4, width) : width
  }
  return both
}

/**
 * Draws the specification as SVG. The root element says in `data-places` where each value is drawn, so that a page can answer
 * the pointer. Throws if Vega cannot draw it.
 */
export async function drawChart(
  spec: Record<string, unknown>,
  size: 'wide' | 'narrow' = 'wide',
): Promise<string> {
  if (new Date(2024, 6, 1).getTimezoneOffset() !== 0 || new Date(2024, 0, 1).getTimezoneOffset() !== 0) {
    throw new Error('Charts are drawn under TZ=UTC only: start the process with it.')
  }
  const [vega, vegaLite] = await (loading ??= load())
  const compiled = vegaLite.compile(numbered(fitted(spec, size)) as never, { logger: silent })
  const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }
  const view = new vega.View(vega.parse(compiled.spec), {
    renderer: 'none',
    loader: loader,
    logger: silent,
  })
  try {
    const svg = await view.toSVG()
    const { root } = view.scenegraph() as unknown as { root: SceneItem }
    const [left, top] = view.origin()
    const places = placesOf(root, [left, top])
    return svg.replace(
      /^<svg /,
      `<svg ${Object.entries(places)
        .map(([name, text]) => `data-${name}="${text}" `)
        .join('')}`,
    )
  } finally {
    view.finalize()
  }
}

/** Gives each value its index, by which the marks that show it are found. */
function numbered(spec: Record<string, unknown>): Record<string, unknown> {
  const values = (spec.data as { values?: object[] } | undefined)?.values
  if (!Array.isArray(values)) return spec
  return { ...spec, data: { values: values.map((value, at) => ({ ...value, at })) } }
}
