/** Summarises a V8 CPU profile: `node bin/runtime.js bench/profiles/summarise.ts FILE [ROWS]` prints self times as a table. */
import { readFileSync } from 'node:fs'

interface Profile {
  nodes: {
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    children?: number[]
  }[]
  samples: number[]
  timeDeltas: number[]
}

const [file, rows = '25'] = process.argv.slice(2)
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file!, 'utf8')) as Profile

const named = new Map(
  nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
    const place = url.replace(/^.*\/(node_modules|src|bench)\//, '$1/')
    return [id, `${functionName || '(anonymous)'} ${place}${place ? `:${lineNumber + 1}` : ''}`] as const
  }),
)
const parent = new Map(
  nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
)
const self = new Map<string, number>()
const total = new Map<string, number>()
for (const [index, id] of samples.entries()) {
  const micros = timeDeltas[index] ?? 0
  const name = named.get(id)!
  self.set(name, (self.get(name) ?? 0) + micros)
  const seen = new Set<string>()
  for (let at: number | undefined = id; at !== undefined; at = parent.get(at)) seen.add(named.get(at)!)
  for (const one of seen) total.set(one, (total.get(one) ?? 0) + micros)
}
const idle = self.get('(idle) ') ?? 0
const busy = [...self.values()].reduce((sum, value) => sum + value, 0) - idle
const share = (micros: number): string => `${((100 * micros) / busy).toFixed(1)} %`
process.stdout.write(`Busy ${(busy / 1e6).toFixed(2)} s, idle ${(idle / 1e6).toFixed(2)} s.\n\n`)
for (const [title, times] of [
  ['self', self],
  ['with what it calls', total],
] as const) {
  process.stdout.write(`| ${title} | function |\n|---|---|\n`)
  const top = [...times].filter(([name]) => name !== '(idle) ').toSorted((a, b) => b[1] - a[1])
  for (const [name, micros] of top.slice(0, Number(rows)))
    process.stdout.write(`| ${share(micros)} | ${name} |\n`)
  process.stdout.write('\n')
}
