/**
 * Builds the console into packages/console/dist and packs each file for the service, which compresses nothing while it
 * serves. It runs after `npm ci`. Without the development dependencies it cannot build; it says so and succeeds.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const root = import.meta.dirname
const dist = path.join(root, 'dist')
const PACKED = /\.(html|js|css|svg)$/
/** The bytes below which a packed file saves less than its header costs. */
const SMALLEST = 512

async function bundle(outDir: string): Promise<void> {
  const { build } = await import('vite')
  const { default: react } = await import('@vitejs/plugin-react')
  await build({
    root,
    // The service puts the path below which it is shown before the addresses of the page.
    base: './',
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      cssTarget: 'chrome123',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1000,
    },
  })
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

async function pack(file: string): Promise<void> {
  const bytes = await readFile(file)
  if (!PACKED.test(file) || bytes.length < SMALLEST) return
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: bytes.length > 300_000 ? 9 : 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  }
  await writeFile(`${file}.br`, await brotli(bytes, { params }))
  await writeFile(`${file}.gz`, await zip(bytes, { level: 9 }))
}

/**
 * Builds beside the final folder and then renames, so that a running service finds the old or the new console whole.
 */
async function buildConsole(): Promise<void> {
  const made = `${dist}-${process.pid}`
  await bundle(made)
  const files = (await readdir(made, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  await Promise.all(files.map(pack))
  await rm(dist, { recursive: true, force: true })
  await rename(made, dist)
}

/**
 * Returns when a source of the console was last changed, in milliseconds: its own, and those of the packages that it
 * imports.
 */
function changed(): number {
  const folders = ['src', '../client', '../model'].map((name) => path.join(root, name))
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { encoding: 'utf8', recursive: true }).map((file) => path.join(folder, file)),
  )
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

/**
 * Builds the console for tests, several of which may start at once. With `fresh` it also builds if a source is newer
 * than the build. That happens before any test starts, so that none tests an old build.
 */
export async function ensureConsole({ fresh = false } = {}): Promise<void> {
  const index = path.join(dist, 'index.html')
  const built = statSync(index, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built > 0 && (!fresh || built >= changed())) return
  await buildConsole().catch((error: unknown) => {
    if (fresh || !existsSync(index)) throw error
  })
}

if (process.argv[1] && path.resolve(process.argv[1]) === import.meta.filename) {
  const tools = path.join(root, '..', '..', 'node_modules', 'vite')
  if (existsSync(tools)) await buildConsole()
  else
    process.stdout.write(
      'The console is not built: its tools are not installed (npm ci without --omit=dev).\n',
    )
}
