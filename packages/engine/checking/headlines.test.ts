import assert from 'node:assert/strict'
import test from 'node:test'
import { parseTemplate } from '../reading/parse.ts'
import { headlineFaults } from './headlines.ts'

const HEAD = `---
sources: { s: { file: a.csv } }
---
\`\`\`analysis a
method: trend
of: s
time: t
value: v
\`\`\`
\`\`\`analysis b
method: trend
of: s
time: t
value: v
\`\`\`
`

const faults = (body: string, partials: Record<string, string> = {}): string[] => {
  const { template } = parseTemplate({ template_id: 't', source: `${HEAD}${body}`, partials })
  return headlineFaults(template!).map(({ line, message }) => `${line} ${message}`)
}

test('a headline without its caveats is a fault at its place', () => {
  assert.deepEqual(faults('text\n{{ a.headline }}\n'), [
    '17 The headline of "a" is printed without its caveats.',
  ])
  assert.equal(faults('{% assign h = a.headline %}{{ h }}').length, 1)
  assert.equal(faults('{% if a.headline %}{{ b.summary }}{% endif %}{{ b.headline }}').length, 1)
  assert.equal(faults('{{ "x" | append: b.headline }}').length, 1)
})

test('a headline beside its summary, its caveats or the doubts is none', () => {
  for (const body of [
    '{{ a.headline }} {{ a.summary }}',
    '{{ a.headline }} {% for c in a.caveats %}{{ c.says }}{% endfor %}',
    '{{ a.headline }} {% doubts %}',
    '{{ a.headline }} {{ b.headline }} {% doubts [a, b] %}',
    '{{ a.headline }} {% render "p" %}',
    '{{ a.summary }}',
  ])
    assert.deepEqual(faults(body, { p: '{% doubts %}' }), [], body)
  assert.equal(faults('{{ a.headline }} {{ b.headline }} {% doubts a %}').length, 1)
})
