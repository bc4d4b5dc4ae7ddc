/**
 * Builds `src/client.ts` into a package for other projects: one file of plain JavaScript for Node 20 and newer, one for
 * browsers without what verifies signatures by Node's cryptography, and the types.
 */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { build } from 'vite'
import { withoutNode } from '../../web/without-node.ts'

const here = import.meta.dirname
const root = path.join(here, '../..')

async function bundle(name: string, plugins: object[]): Promise<void> {
  await build({
    root: here,
    configFile: false,
    logLevel: 'warn',
    plugins,
    build: {
      outDir: path.join(here, 'dist'),
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      lib: { entry: path.join(root, 'src/client.ts'), formats: ['es'], fileName: () => `${name}.js` },
      rollupOptions: { external: [/^node:/] },
    },
  })
}

await bundle('client', [])
await bundle('browser', [withoutNode])
execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', here], {
  stdio: 'inherit',
})
