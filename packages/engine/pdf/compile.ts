/**
 * Sets the printed document of an insight as PDF with Typst: tagged, with its fonts embedded, the same bytes for the
 * same insight. The text is data for a fixed template, so none of it is run; it can reach no file, package or address.
 * Typst is WebAssembly of 28 MB, loaded with the first document.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { PageInsight } from '@assay/model/insight'
import type { Drawing } from '../pages/chart-figure.ts'
import { printedDocument } from './document.ts'

const require = createRequire(import.meta.url)
const WASM = '@myriaddreamin/typst-ts-web-compiler/wasm'
const TEMPLATE = '/insight.typ'
/** The fonts. The last two have the signs that Inter lacks, and the letters of code. */
const FONTS = [
  '@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf',
  '@expo-google-fonts/inter/400Regular_Italic/Inter_400Regular_Italic.ttf',
  '@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf',
  'dejavu-fonts-ttf/ttf/DejaVuSans.ttf',
  'dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf',
]
/** An argument of `compile` that asks for diagnostics as plain lines. */
const AS_LINES = 2

interface Compiled {
  result?: Uint8Array
  diagnostics?: string[]
}
type Typst = Awaited<ReturnType<typeof load>>
let loading: Promise<Typst> | undefined

async function load() {
  const { initSync, TypstCompilerBuilder } = await import('@myriaddreamin/typst-ts-web-compiler')
  initSync({ module: await readFile(require.resolve(WASM)) })
  const builder = new TypstCompilerBuilder()
  // The compiler reads no file; all input is passed in.
  builder.set_dummy_access_model()
  for (const font of FONTS) await builder.add_raw_font(await readFile(require.resolve(font)))
  const typst = await builder.build()
  typst.add_source(TEMPLATE, await readFile(path.join(import.meta.dirname, 'insight.typ'), 'utf8'))
  return typst
}

/**
 * Returns the PDF. `drawings`: one for each chart of the insight; a chart without one is set as text. Throws if Typst
 * refuses the document.
 */
export async function insightPdf(insight: PageInsight, drawings: readonly Drawing[]): Promise<Uint8Array> {
  const typst = await (loading ??= load())
  const data = JSON.stringify(printedDocument(insight, drawings))
  const { result, diagnostics } = typst.compile(TEMPLATE, [['data', data]], 'pdf', AS_LINES) as Compiled
  if (!result) throw new Error(`The document cannot be set: ${(diagnostics ?? []).join('\n').slice(0, 2000)}`)
  return result
}
