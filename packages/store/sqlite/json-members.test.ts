/** Compares the members of JSON objects with those of JSON.parse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonMembers } from './json-members.ts'

test('the members of a JSON object are found whatever their texts hold', async () => {
  const texts = ['', '"', '\\', '\\"', '{', '}', '[1,', ':', ',', '\u0000', 'Zürich \u2028', '😀', '\\\\"}']
  const values = [
    ...texts,
    ...texts.map((text) => ({ [text]: [text, { deep: text }] })),
    0,
    -1.5e9,
    true,
    null,
  ]
  const object = Object.fromEntries(
    values.map((value, index) => [`${texts[index % texts.length]}${index}`, value]),
  )
  for (const json of [JSON.stringify(object), JSON.stringify(object, null, 2), '{}', '{ }', '{"a":1}']) {
    const found = [...(await jsonMembers(Buffer.from(json)))]
    const read = Object.fromEntries(
      found.map(([name, bytes]) => [name, JSON.parse(bytes.toString()) as unknown]),
    )
    assert.deepEqual(read, JSON.parse(json))
  }
})

test('others are served while the members of a large object are found', async () => {
  const json = Buffer.from(
    JSON.stringify({ small: 1, large: Array.from({ length: 400_000 }, (_, n) => `text ${n}`) }),
  )
  let passes = 0
  let over = false
  const pass = (): void => {
    passes += 1
    if (!over) setImmediate(pass)
  }
  setImmediate(pass)
  const members = await jsonMembers(json)
  over = true
  assert.ok(passes >= Math.floor(json.length / 1_000_000), `${passes} passes in ${json.length} bytes`)
  assert.equal(members.get('small')!.toString(), '1')
  assert.equal(members.get('large')!.length, json.length - '{"small":1,"large":}'.length)
})
