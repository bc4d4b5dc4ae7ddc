/**
 * Test files that run several in one process. To start a process and to load the engine takes a third of a second of
 * processor time, more than most small files take; to load the service takes more than half a second, and so does the start of
 * an analysis process; to start a browser takes more than a second.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Signs that a file changes its process for others, or needs one that nobody changed. */
const ITS_OWN =
  /^(?:before|beforeEach|afterEach|mock\.method)\(|= await import\(|\bprocess\.(?!pid\b|cpuUsage\b|getuid\b|platform\b|cwd\b)|mock\.method\((?:process|globalThis)|\bglobalThis\b|child_process|worker_threads|registerHooks|\.prototype\.\w+ =|\bstartPostgres\b/m

/** Signs that a file starts an analysis process or a service of its own. */
const STARTS = /[Pp]ool\b|\b(?:openTestServer|startApp)\b/

const shares = (file: string, text: string): boolean => file.startsWith('packages/') && !ITS_OWN.test(text)

/** Which files go together, and how many at most: no group takes so long that it ends last. */
const KINDS: { is: (file: string, text: string) => boolean; most: number }[] = [
  { is: (file, text) => shares(file, text) && !STARTS.test(text), most: 12 },
  { is: (file, text) => shares(file, text) && STARTS.test(text), most: 6 },
  { is: (file, text) => file.startsWith('test/') && text.includes("from './stand.ts'"), most: 4 },
]

export interface Together {
  /** Whole paths, in the order of `files`. A file that holds several stands where the first of them would. */
  paths: string[]
  /** The files that one of `paths` holds. */
  held(file: string): string[]
}

function groupsOf(files: string[], most: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / most) }, (_, group) =>
    files.slice(group * most, (group + 1) * most),
  )
}

/**
 * Puts files of a kind together, but for those that are to be `alone`. `root` is the folder of `files`; `folder` takes the
 * files that hold several.
 */
export function together(
  files: string[],
  { root, folder, alone }: { root: string; folder: string; alone: readonly string[] },
): Together {
  const texts = new Map(
    files
      .filter((file) => !alone.includes(file))
      .map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
  )
  const groups = KINDS.flatMap(({ is, most }) => {
    const ofKind = [...texts].filter(([file, text]) => is(file, text)).map(([file]) => file)
    return groupsOf(ofKind, most).filter((group) => group.length > 1)
  })
  const holders = new Map(groups.map((group, index) => [path.join(folder, `${index}.test.mjs`), group]))
  for (const [holder, group] of holders)
    writeFileSync(
      holder,
      group.map((file) => `import ${JSON.stringify(pathToFileURL(path.join(root, file)).href)}\n`).join(''),
    )
  const holderOf = new Map([...holders].flatMap(([holder, group]) => group.map((file) => [file, holder])))
  return {
    paths: [...new Set(files.map((file) => holderOf.get(file) ?? path.join(root, file)))],
    held: (file) => holders.get(file) ?? [path.relative(root, file)],
  }
}
