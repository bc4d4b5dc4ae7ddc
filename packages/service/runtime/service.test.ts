import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from './log.ts'
import { type Service, supervise } from './service.ts'

const PATIENT_MS = 60_000

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function recorder(): { events: string[]; service(name: string): Service } {
  const events: string[] = []
  return {
    events,
    service: (name) => ({
      name,
      async run(signal) {
        events.push(`start ${name}`)
        await aborted(signal)
        events.push(`stopping ${name}`)
        await new Promise((resolve) => setImmediate(resolve))
        events.push(`stopped ${name}`)
      },
    }),
  }
}

test('stops the services in reverse order, each before the next', async () => {
  const { events, service } = recorder()
  const control = new AbortController()
  const done = supervise([service('api'), service('worker')], control.signal, silentLog, PATIENT_MS)
  control.abort()
  await done
  assert.deepEqual(events, [
    'start api',
    'start worker',
    'stopping worker',
    'stopped worker',
    'stopping api',
    'stopped api',
  ])
})

test('a service that fails stops the others, and its failure is thrown', async () => {
  const { events, service } = recorder()
  const failing: Service = {
    name: 'failing',
    run: () => Promise.reject(new Error('the port is taken')),
  }
  await assert.rejects(
    supervise([service('worker'), failing], new AbortController().signal, silentLog, PATIENT_MS),
    /the port is taken/,
  )
  assert.deepEqual(events, ['start worker', 'stopping worker', 'stopped worker'])
})

test('starts and stops where the signal was aborted before', async () => {
  const { events, service } = recorder()
  await supervise([service('api')], AbortSignal.abort(), silentLog, PATIENT_MS)
  assert.deepEqual(events, ['start api', 'stopping api', 'stopped api'])
})

test('a service that never stops is named in the log and left behind, and the others still stop', async () => {
  const { events, service } = recorder()
  const hanging: Service = { name: 'hanging', run: () => new Promise(() => undefined) }
  const said: unknown[] = []
  const log = { ...silentLog, error: (...args: unknown[]) => said.push(args) } as typeof silentLog
  const control = new AbortController()
  const done = supervise([service('store'), hanging, service('api')], control.signal, log, 1)
  control.abort()
  await done
  assert.deepEqual(events.slice(2), ['stopping api', 'stopped api', 'stopping store', 'stopped store'])
  assert.deepEqual(said, [
    [
      { service: 'hanging' },
      'a service did not stop in time: what it held is taken over when its lease ends',
    ],
  ])
})
