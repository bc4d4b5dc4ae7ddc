/**
 * Puts several test files into one process. A start of a process with the engine takes a third of a second of processor
 * time, which is more than most small files take. Loading the service, and a start of an analysis process, take more than
 * half a second each, and a start of a browser more than a second.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Matches a file that changes its process for others, or needs a process that no other file has changed. */
const ITS_OWN =
  /^(?:before|beforeEach|afterEach|mock\.method)\(|= await import\(|\bprocess\.(?!pid\b|cpuUsage\b|getuid\b|platform\b|cwd\b)|mock\.method\((?:process|globalThis)|\bglobalThis\b|child_process|worker_threads|registerHooks|\.prototype\.\w+ =|\bstartPostgres\b/m

/** Matches a file that starts an analysis process or a service of its own. */
const STARTS = /[Pp]ool\b|\b(?:openTestServer|startApp)\b/

const shares = (file: string, text: string): boolean => file.startsWith('packages/') && !ITS_OWN.test(text)

/**
 * The kinds of files that share a process, with the most files of each group. No group takes so long that it ends last.
 */
const KINDS: { is: (file: string, text: string) => boolean; most: number }[] = [
  { is: (file, text) => shares(file, text) && !STARTS.test(text), most: 12 },
  { is: (file, text) => shares(file, text) && STARTS.test(text), most: 6 },
  { is: (file, text) => file.startsWith('test/') && text.includes("from './stand.ts'"), most: 4 },
]

export interface Together {
  /** The full paths, in the order of `files`. A file that holds several stands in the place of the first of them. */
  paths: string[]
  /** Returns the files that one of `paths` holds. */
  held(file: string): string[]
}

function groupsOf(files: string[], most: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / most) }, (_, group) =>
    files.slice(group * most, (group + 1) * most),
  )
}

/**
 * Puts files of a kind together, except those in `alone`. `root` is the folder of `files`. The files that hold several
 * are written to `folder`.
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
