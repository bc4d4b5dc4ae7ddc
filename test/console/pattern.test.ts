import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patternInWords } from '../../packages/console/src/words/pattern.ts'

const WORDS: [pattern: string, words: string | null][] = [
  ['^[A-Z]{3}$', '3 capital letters'],
  ['^[A-Za-z0-9]{1,20}$', 'letters and digits, at most 20'],
  ['^[a-z][a-z0-9_-]*$', 'one small letter, then small letters, digits, “_” and “-”'],
  ['^\\d{4}-\\d{2}$', '4 digits, then “-”, then 2 digits'],
  ['^INV-[0-9]{4,8}$', '“INV-”, then digits, 4 to 8'],
  ['^[0-9]{2,}$', 'digits, at least 2'],
  ['^(north|south|east)$', 'one of “north”, “south” or “east”'],
  ['^[A-Z]\\.?$', 'one capital letter, then “.” or nothing'],
  ['[A-Z]{3}', null],
  ['^(?=.*x)[a-z]+$', null],
  ['^[^a]+$', null],
  ['^[!-~]+$', null],
]

test('a pattern is said in words where words are plainer, and else stands as it is', () => {
  for (const [pattern, words] of WORDS) assert.equal(patternInWords(pattern), words, pattern)
})
