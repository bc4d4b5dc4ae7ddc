/**
 * Builds `packages/client/client.ts` into a package for other projects: one file of plain JavaScript for Node 20 and newer, one for
 * browsers without what verifies signatures by Node's cryptography, and the types.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build, type PluginOption } from 'vite'
import { withoutNode } from '../../packages/console/without-node.ts'

const here = import.meta.dirname
const root = path.join(here, '../..')

async function bundle(name: string, plugins: PluginOption[]): Promise<void> {
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
      lib: {
        entry: path.join(root, 'packages/client/client.ts'),
        formats: ['es'],
        fileName: () => `${name}.js`,
      },
      rollupOptions: { external: [/^node:/] },
    },
  })
}

await bundle('client', [])
await bundle('browser', [withoutNode])
execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', here], {
  stdio: 'inherit',
})
// The types of the nouns are packed beside those of the client, so they are named by their place.
for (const file of globSync('dist/*/*.d.ts', { cwd: here })) {
  const text = readFileSync(path.join(here, file), 'utf8')
  writeFileSync(
    path.join(here, file),
    text.replaceAll(/(['"])@assay\/model\/([\w-]+)\1/g, '$1../model/$2.js$1'),
  )
}
