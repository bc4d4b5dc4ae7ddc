/**
 * Test files that run several in one process: to start a process and to load the engine takes a third of a second of
 * processor time, more than most small files take.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const AT_MOST = 12

/** What a file does to its process, or starts beside it. A file with none of it leaves the process as it was. */
const ITS_OWN =
  /^(?:before|after|beforeEach|afterEach)\(|^await |= await import\(|\bprocess\.|\bmock\b|\bglobalThis\b|child_process|worker_threads|registerHooks|\.prototype\b|[Pp]ool\b|\b(?:startPostgres|openTestServer|startApp)\b/m

export interface Together {
  /** Whole paths, in the order of `files`. A file that holds several stands where the first of them would. */
  paths: string[]
  /** The files that one of `paths` holds. */
  held(file: string): string[]
}

/**
 * Puts the files that leave their process as it was together, a dozen in one, but for those that are to be `alone`. `root`
 * is the folder of `files`; `folder` takes the files that hold several.
 */
export function together(
  files: string[],
  { root, folder, alone }: { root: string; folder: string; alone: readonly string[] },
): Together {
  const small = files.filter(
    (file) => !alone.includes(file) && !ITS_OWN.test(readFileSync(path.join(root, file), 'utf8')),
  )
  const groups = Array.from({ length: Math.ceil(small.length / AT_MOST) }, (_, group) =>
    small.slice(group * AT_MOST, (group + 1) * AT_MOST),
  ).filter((group) => group.length > 1)
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
