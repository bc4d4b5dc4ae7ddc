/**
 * Draws a Vega-Lite specification as SVG, without a canvas or a browser. Vega is loaded with the first chart (70 packages).
 * The process must run under TZ=UTC: Vega reads and prints times in the machine's zone otherwise, and the bytes would differ
 * from one machine to the next.
 */

/** Refuses data by address: nothing is fetched, and no file is read. */
const refuse = (): Promise<never> => Promise.reject(new Error('A chart may only hold its own data.'))

/** Draws the specification as SVG. Throws if Vega cannot draw it. */
export async function drawChart(spec: Record<string, unknown>): Promise<string> {
  if (new Date(2024, 6, 1).getTimezoneOffset() !== 0 || new Date(2024, 0, 1).getTimezoneOffset() !== 0) {
    throw new Error('Charts are drawn under TZ=UTC only: start the process with it.')
  }
  const [vega, vegaLite] = await Promise.all([import('vega'), import('vega-lite')])
  const silent = {
    level: () => silent,
    error: () => silent,
    warn: () => silent,
    info: () => silent,
    debug: () => silent,
  }
  const compiled = vegaLite.compile(spec as never, { logger: silent })
  const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }
  const view = new vega.View(vega.parse(compiled.spec), {
    renderer: 'none',
    loader: loader,
    logger: silent,
  })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}
