/**
 * Makes a release that a stranger can run: "npm run release" writes the package for npm, for each platform an archive with Node, an OCI image,
 * the bill of materials, the provenance and the checksums into dist/release. "npm run release -- version 1.2.3" raises the version first.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { billOfMaterials } from '../bill-of-materials.ts'
import { addLauncher, addNode } from './archive.ts'
import { type Material, writeBase } from './base.ts'
import { compress, writeTar } from './files.ts'
import { addImage, type Descriptor, layersOf, writeIndex } from './image.ts'
import { installModules, packForNpm, type Target } from './modules.ts'
import { versionOf, writeProgram } from './program.ts'
import { commitOf, writeStatement } from './statement.ts'
import { refusal, setVersion } from './version.ts'

const root = path.join(import.meta.dirname, '../..')
const TARGETS: Record<string, Target> = {
  'linux-x64': { os: 'linux', cpu: 'x64' },
  'linux-arm64': { os: 'linux', cpu: 'arm64' },
}

interface Wanted {
  platforms: string[]
  to: string
  draft: boolean
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Makes everything in a temporary folder, which becomes the release once all of it is there. */
async function release({ platforms, to, draft }: Wanted): Promise<void> {
  const started = new Date()
  const version = versionOf()
  const { commit, time, clean } = commitOf()
  const refused = refusal(version, readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8'))
  if (!draft && refused !== undefined) throw new Error(refused)
  if (!draft && !clean) throw new Error('Files differ from the commit: commit them, or say --draft to try.')
  process.umask(0o022)
  const stage = mkdtempSync(path.join(tmpdir(), 'assay-release-'))
  const out = path.join(stage, 'out')
  const layout = path.join(stage, 'layout')
  mkdirSync(out)
  try {
    const program = path.join(stage, 'program')
    await writeProgram(program)
    say('bundled')
    const images: Descriptor[] = []
    const materials: Material[] = []
    for (const [at, platform] of platforms.entries()) {
      const target = TARGETS[platform]!
      const folder = path.join(stage, platform)
      const complete = path.join(folder, 'program')
      cpSync(program, complete, { recursive: true })
      installModules(complete, target)
      const node = path.join(folder, 'node')
      addNode(node, target)
      say(`${platform}: installed`)
      const base = path.join(folder, 'base')
      materials.push(...(await writeBase(base, target, path.join(folder, 'apt'))))
      images.push(
        await addImage(layout, layersOf(folder, base, node, complete), { ...target, version, time }),
      )
      say(`${platform}: image`)
      // The package for npm is the same for each platform, so it is packed once.
      if (at === 0) {
        const packed = path.join(stage, 'npm')
        cpSync(complete, packed, { recursive: true })
        packForNpm(packed, out)
        say('packed for npm')
      }
      renameSync(node, path.join(complete, 'node'))
      addLauncher(complete)
      const name = `assay-${version}-${platform}`
      const archive = path.join(out, `${name}.tar`)
      writeTar(complete, archive, { time }, name)
      compress(archive)
      say(`${platform}: archive`)
      rmSync(folder, { recursive: true })
    }
    writeIndex(layout, images, version)
    writeTar(layout, path.join(out, `assay-${version}.oci.tar`), { time })
    const bill = `${JSON.stringify(billOfMaterials(), null, 2)}\n`
    writeFileSync(path.join(out, 'sbom.cdx.json'), bill)
    await writeStatement(out, { version, commit, platforms, started, finished: new Date(), materials })
    rmSync(to, { recursive: true, force: true })
    mkdirSync(path.dirname(to), { recursive: true })
    cpSync(out, to, { recursive: true })
    say(to)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    platform: { type: 'string', multiple: true, default: Object.keys(TARGETS) },
    to: { type: 'string', default: path.join(root, 'dist/release') },
    draft: { type: 'boolean', default: false },
  },
})

async function run(): Promise<void> {
  const [command, version] = positionals
  if (command === 'version' && version !== undefined) {
    const day = new Date().toISOString().slice(0, 10)
    say(setVersion(root, version, day).join('\n'))
    say('Now run "npm run gen", read the differences and commit them.')
    return
  }
  const unknown = values.platform.filter((name) => !TARGETS[name])
  if (command !== undefined || unknown.length > 0)
    throw new Error(
      `Say "npm run release -- version 1.2.3", or nothing with --platform ${Object.keys(TARGETS).join(' or ')}.`,
    )
  await release({ platforms: values.platform, to: path.resolve(values.to), draft: values.draft })
}

try {
  await run()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
