import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCommand, parseCall } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import { PLAN } from './plan.ts'

const plan = (...args: string[]) =>
  PLAN.run(parseCall(findCommand([PLAN], ['plan'])!, args, {}, new AbortController().signal))

test('a plan without an effect, or with one that leaves the shares, says what to write', async () => {
  await assert.rejects(
    plan('--rate', '12%'),
    (error) => error instanceof UsageError && /--effect 0\.01/.test(error.message),
  )
  await assert.rejects(plan('--rate', '0.9', '--effect', '0.2'), /must lie between 0 and 1/)
  await assert.rejects(plan('--effect', '1'), /either --rate/)
  await assert.rejects(
    plan('--effect', '1', '--lift', '5%', '--sd', '1'),
    /either --effect 0\.01.* or --lift 5%/,
  )
  await assert.rejects(plan('--lift', '5%', '--sd', '1'), /--lift is a share of the value/)
  await assert.rejects(plan('--effect', '1', '--sd', '1', '--unit', 'user'), /name the table, --from FILE/)
  await assert.rejects(plan('--effect', '1', '--sd', '1', '--from', 'x.csv'), /leave out --sd/)
  await assert.rejects(plan('--effect', '1', '--sd', '1', '--tuned-for', '9000'), /--looks sequential/)
  await assert.rejects(plan('--effect', '1', '--sd', '1', '--covariate', 'x'), /name the table, --from FILE/)
  await assert.rejects(
    plan('--effect', '1', '--sd', '1', '--shares', '80%,10%'),
    /such as 80%,20%; not "80%,10%"/,
  )
  await assert.rejects(
    plan('--effect', '1', '--sd', '1', '--shares', '80%,20%', '--arms', '2'),
    /leave out --arms/,
  )
  await assert.rejects(plan('--sd', 'wide', '--effect', '1'), /"wide" is not a number/)
})
