/** Checks that each link in a page leads to a file of the repository, and to a heading that the file has. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(path.dirname(import.meta.dirname))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  // Golden reports hold texts of data, such as "[1](x)".
  .filter((file) => file !== '' && !file.startsWith('test/') && existsSync(path.join(root, file)))

/** Returns the page without its code, in which a bracket is no link and a "#" no heading. */
const withoutCode = (text: string): string =>
  text
    .replaceAll(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ {0,3}\1[`~]*$/gm, '')
    .replaceAll(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, 'code')

/** Returns the anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const fenced = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ {0,3}\1[`~]*$/gm
  return new Set(
    [...page.replaceAll(fenced, '').matchAll(/^#{1,6} (.+)$/gm)].map((heading) =>
      heading[1]!
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

test('each link of a page leads to a file that exists and a heading that it has', () => {
  assert.ok(pages.length > 30)
  const faults = pages.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
      if (/^[a-z]+:/i.test(link!)) return []
      const [target, anchor] = link!.split('#') as [string, string | undefined]
      const file = target === '' ? page : path.posix.join(path.posix.dirname(page), target)
      if (!existsSync(path.join(root, file))) return [`${page}: ${link} leads to no file`]
      if (anchor === undefined || !file.endsWith('.md')) return []
      return anchorsOf(read(file)).has(anchor) ? [] : [`${page}: ${link} names no heading of ${file}`]
    }),
  )
  assert.deepEqual(faults, [])
})
