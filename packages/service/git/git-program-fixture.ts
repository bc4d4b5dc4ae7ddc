/** For tests: tells whether the program git exists, and makes a repository as a server keeps it. */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

export function isGitThere(): boolean {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
}

export type Git = (...words: string[]) => string

export const gitEnvironment = (home: string): Record<string, string | undefined> => ({
  PATH: process.env.PATH,
  HOME: home,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
})

/**
 * Makes a bare repository `reports.git` in a folder of its own, with two commits in a pack. `text`: the text of
 * team/reports/weekly.md.
 */
export async function bareRepository(test: { after(clean: () => Promise<void>): void }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-git-backend-'))
  test.after(() => rm(folder, { recursive: true, force: true }))
  const env = gitEnvironment(folder)
  const git: Git = (...words) => execFileSync('git', words, { cwd: folder, env, stdio: 'pipe' }).toString()
  const many = Array.from({ length: 400 }, (_, line) => `Line ${line} of the report.`).join('\n')
  git('init', '--quiet', '--bare', '--initial-branch', 'main', 'reports.git')
  git('clone', '--quiet', 'reports.git', 'work')
  await mkdir(path.join(folder, 'work/team/reports'), { recursive: true })
  for (const text of [many, `${many}\nThe end: Zürich.\n`]) {
    await writeFile(path.join(folder, 'work/team/reports/weekly.md'), text)
    await writeFile(path.join(folder, 'work/README.md'), 'Reports')
    git('-C', 'work', 'add', '.')
    git('-C', 'work', 'commit', '--quiet', '--message', `Write ${text.length} characters`)
  }
  git('-C', 'work', 'push', '--quiet', 'origin', 'HEAD:main')
  git('-C', 'reports.git', 'gc', '--quiet')
  let taken = 0
  return {
    folder,
    git,
    text: `${many}\nThe end: Zürich.\n`,
    /** Makes an empty folder. */
    async objects(): Promise<string> {
      const gitdir = path.join(folder, `objects-${(taken += 1)}`)
      await mkdir(gitdir)
      return gitdir
    },
  }
}
