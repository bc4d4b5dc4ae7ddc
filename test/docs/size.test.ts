/** Checks that decision 62 tells the present size of each package and of each part of the service and the engine. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(path.dirname(import.meta.dirname))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const page = read('docs/decisions/0062-the-size-of-the-program.md')

/** Tells whether a number of the page is near enough to the counted one: within 10 %, or 200 lines of a small part. */
const isNear = (told: number, counted: number): boolean =>
  Math.abs(told - counted) <= Math.max(0.1 * counted, 200)

const NOT_COUNTED =
  /\.test\.ts$|\.generated\.ts$|\/conformance(?:-[a-z]+)?\.ts$|\/conformance\/|-fixture\.ts$|-child\.ts$|\/test-[a-z-]+\.ts$|\/sync-at-once\.ts$/
const files = globSync('packages/**/*.ts', { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })
  .filter((file) => !NOT_COUNTED.test(file) && !file.startsWith('packages/console/'))
  .map((file) => ({ steps: file.split('/').slice(1), lines: read(file).split('\n').length - 1 }))

/** Returns the lines below a folder of a package, by the name of the folder. Files of the package itself are left out. */
function linesBelow(name: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { steps, lines } of files)
    if (steps[0] === name && steps.length > 2) counts.set(steps[1]!, (counts.get(steps[1]!) ?? 0) + lines)
  return counts
}

/** Returns the rows of the table below a heading: the names of the first column, and the number in the column `now`. */
function toldBelow(heading: string): { names: string[]; now: number }[] {
  const [, table = ''] = page.split(heading)
  const [head = '', , ...rows] = table.slice(table.indexOf('|')).split('\n\n')[0]!.split('\n')
  const column = head.split('|').findIndex((cell) => cell.trim() === 'now')
  return rows.map((row) => {
    const cells = row.split('|')
    return {
      names: [...cells[1]!.matchAll(/`([a-z-]+)`/g)].map((match) => match[1]!),
      now: Number(cells[column]!.replaceAll(',', '')),
    }
  })
}

/** Asserts that a table names each counted part once, with about its lines. */
function holds(told: { names: string[]; now: number }[], counts: Map<string, number>): void {
  assert.deepEqual(told.flatMap(({ names }) => names).toSorted(), [...counts.keys()].toSorted())
  for (const { names, now } of told) {
    const counted = names.reduce((sum, name) => sum + counts.get(name)!, 0)
    assert.ok(isNear(now, counted), `${names.join(', ')}: ${now}, counted ${counted}`)
  }
}

test('the size of each package is what the page says', () => {
  const counts = new Map<string, number>()
  for (const { steps, lines } of files) counts.set(steps[0]!, (counts.get(steps[0]!) ?? 0) + lines)
  holds(toldBelow('## Counted'), counts)
})

test('the size of each part of the service and of the engine is what the page says', () => {
  holds(toldBelow('The service by part:'), linesBelow('service'))
  holds(toldBelow('The engine by part:'), linesBelow('engine'))
})

test('ARCHITECTURE.md tells the size of the whole program', () => {
  const all = files.reduce((sum, { lines }) => sum + lines, 0)
  const [, told] = /\| the size .*? \| ([\d,]+) lines where/.exec(read('ARCHITECTURE.md')) ?? []
  assert.ok(told !== undefined, 'ARCHITECTURE.md has the row "the size"')
  assert.ok(isNear(Number(told.replaceAll(',', '')), all), `${told}, counted ${all}`)
})
