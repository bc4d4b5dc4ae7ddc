/** The short form of `npm run proof -- causes`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTINGS } from '../../proofs/causes/instances.ts'
import { scoreOf } from '../../proofs/causes.ts'

const SEED = 17

test('of eight instances of S and four of L most causes are named whole, and few that are none', {
  timeout: 240_000,
}, () => {
  const s = scoreOf(SETTINGS.S, 8, SEED, true)
  const l = scoreOf(SETTINGS.L, 4, SEED, true)
  assert.ok(s.f1 >= 0.8, `S: F1 ${s.f1}`)
  assert.ok(l.f1 >= 0.85, `L: F1 ${l.f1}`)
  assert.ok(s.wrong + l.wrong <= 2, `${s.wrong + l.wrong} named that were not planted`)
})

test('in four instances where nothing was planted no cause is named', { timeout: 120_000 }, () => {
  assert.equal(scoreOf(SETTINGS.S, 4, SEED + 1, false).named, 0)
})
