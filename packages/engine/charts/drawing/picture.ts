/**
 * Turns a drawing into a PNG, for readers that show no SVG: mail. The fonts are our own, so that a picture is the same on
 * every machine. The renderer is loaded with the first picture.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { PAGE } from '../marks/look.ts'

const require = createRequire(import.meta.url)
const FONTS = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf']
/**
 * The pixels of the picture for one of the drawing, for dense screens. A narrow drawing of 300 pixels is shown at up
 * to 400. The scale is bounded, because the cost grows with the area.
 */
const SCALE = 3
const WIDTH_MOST = 2000
const HEIGHT_MOST = 4000

interface Renderer {
  Resvg: typeof import('@resvg/resvg-wasm')['Resvg']
  fonts: Uint8Array[]
}

let loading: Promise<Renderer> | undefined

async function load(): Promise<Renderer> {
  const { initWasm, Resvg } = await import('@resvg/resvg-wasm')
  await initWasm(readFile(require.resolve('@resvg/resvg-wasm/index_bg.wasm')))
  const fonts = await Promise.all(
    FONTS.map((name) => readFile(require.resolve(`dejavu-fonts-ttf/ttf/${name}`))),
  )
  return { Resvg, fonts }
}

/** Renders a drawing as PNG on a white background. */
export async function drawPicture(svg: string): Promise<Buffer> {
  const { Resvg, fonts } = await (loading ??= load())
  const font = { fontBuffers: fonts, defaultFontFamily: 'DejaVu Sans', sansSerifFamily: 'DejaVu Sans' }
  const plain = new Resvg(svg, { font })
  const { width, height } = plain
  plain.free()
  const zoom = Math.min(SCALE, WIDTH_MOST / width, HEIGHT_MOST / height)
  const drawing = new Resvg(svg, { font, background: PAGE, fitTo: { mode: 'zoom', value: zoom } })
  const image = drawing.render()
  try {
    return Buffer.from(image.asPng())
  } finally {
    image.free()
    drawing.free()
  }
}
