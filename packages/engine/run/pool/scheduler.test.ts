import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { MOST_QUEUED, type Schedulable, Scheduler } from './scheduler.ts'

const job = (owner: string): Schedulable => ({ queue: 'job', owner })
const preview = (owner: string, max_running: number | null = null): Schedulable => ({
  queue: 'preview',
  owner,
  max_running,
})
const small = (owner: string): Schedulable => ({ queue: 'small', owner })

/** Makes a scheduler and begins every item that may begin. Records the order. */
function setUp(size: number, processors = 2) {
  let now = 0
  const scheduler = new Scheduler<Schedulable>(size, () => now, processors)
  const begun: Schedulable[] = []
  const go = (): void => {
    for (let next = scheduler.next(); next; next = scheduler.next()) {
      scheduler.begin(next)
      begun.push(next)
    }
  }
  return {
    scheduler,
    begun,
    put(...items: Schedulable[]) {
      for (const item of items) {
        scheduler.add(item)
        go()
      }
    },
    end(item: Schedulable, after_ms = 0) {
      now += after_ms
      scheduler.end(item)
      go()
    },
    pass(ms: number) {
      now += ms
      go()
    },
    names: () => begun.map(({ queue, owner }) => `${queue} of ${owner}`),
  }
}

function refusal(act: () => void): AppError {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof AppError)
    return error
  }
  throw new Error('nothing was refused')
}

test('previews leave a process to jobs, and come after jobs that wait', () => {
  const { put, end, begun, names } = setUp(2)
  put(preview('guest'), preview('other'), preview('guest'), job('mine'), job('mine'))
  assert.deepEqual(names(), ['preview of guest', 'job of mine'])
  end(begun[0]!)
  assert.deepEqual(names().slice(2), ['job of mine'])
  end(begun[1]!)
  assert.deepEqual(names().slice(3), ['preview of other'])
})

test('no more previews of a workspace run than its max_running, and those of others go past them', () => {
  const { put, end, begun, names } = setUp(4)
  put(preview('guest', 1), preview('guest', 1), preview('other', 2), preview('other', 2))
  assert.deepEqual(names(), ['preview of guest', 'preview of other', 'preview of other'])
  end(begun[1]!)
  assert.equal(begun.length, 3)
  end(begun[0]!)
  assert.deepEqual(names().slice(3), ['preview of guest'])
})

test('with one job at a time, a job does not wait for previews, which have a process of their own', () => {
  const { put, end, begun, names } = setUp(1)
  put(preview('guest'), preview('guest'), job('mine'), job('mine'))
  assert.deepEqual(names(), ['preview of guest', 'job of mine'])
  end(begun[0]!)
  end(begun[1]!)
  assert.deepEqual(names().slice(2), ['preview of guest', 'job of mine'])
})

test('one small task can always run, and a second one of its workspace only if another process stays free', () => {
  const { put, begun, names } = setUp(2)
  put(small('guest'), small('guest'), small('guest'), job('mine'))
  assert.deepEqual(names(), ['small of guest', 'small of guest', 'job of mine'])
  const busy = setUp(2)
  busy.put(job('mine'), job('mine'), small('guest'), small('guest'))
  assert.deepEqual(busy.names(), ['job of mine', 'job of mine', 'small of guest'])
  busy.end(busy.begun[2]!)
  assert.deepEqual(busy.names().slice(3), ['small of guest'])
  assert.equal(begun.length, 3)
})

test('a workspace has a bounded number waiting; the refusal names the cap, its value and when to retry', () => {
  for (const [make, cap] of [
    [preview, 'previews waiting'],
    [small, 'checks waiting'],
  ] as const) {
    const { scheduler, put } = setUp(1)
    const most = MOST_QUEUED[make('').queue as 'preview' | 'small']
    while (scheduler.waiting < most) {
      scheduler.admit(make('guest'))
      put(make('guest'))
    }
    const refused = refusal(() => scheduler.admit(make('guest')))
    assert.deepEqual([refused.code, refused.status, refused.retryAfter], ['workspace_busy', 429, 10])
    assert.ok(refused.message.includes(`(${cap}: ${most})`), refused.message)
    scheduler.admit(make('other'))
    scheduler.admit(job('guest'))
  }
})

test("a workspace's max_queued and a max_running of none bound its previews, too", () => {
  const { scheduler, put } = setUp(1)
  assert.match(refusal(() => scheduler.admit(preview('held', 0))).message, /\(max_running: 0\)/)
  scheduler.admit(preview('guest', 1), 0)
  put(preview('guest', 1))
  assert.match(refusal(() => scheduler.admit(preview('guest', 1), 0)).message, /\(max_queued: 0\)/)
})

test('readers of links wait in a turn of their own, however many small tasks their workspace has waiting', () => {
  const { scheduler, put, end, begun } = setUp(1)
  const reader = (owner: string): Schedulable => ({ ...small(owner), reader: true })
  put(...Array.from({ length: MOST_QUEUED.small + 2 }, () => small('guest')))
  assert.equal(refusal(() => scheduler.admit(small('guest'))).code, 'workspace_busy')
  const page = reader('guest')
  scheduler.admit(page)
  put(page)
  assert.deepEqual(
    scheduler.usage().find(({ queue }) => queue === 'reader'),
    { owner: 'guest', queue: 'reader', state: 'waiting', count: 1 },
  )
  end(begun[0]!)
  assert.equal(begun.at(-1), page)
  put(...Array.from({ length: MOST_QUEUED.small }, () => reader('guest')))
  assert.equal(refusal(() => scheduler.admit(reader('guest'))).code, 'workspace_busy')
})

test('a small task that waits for a silent database holds up none of another workspace', () => {
  const { put, end, begun, names } = setUp(1)
  put(job('mine'), preview('mine'))
  put(small('guest'), { ...small('guest'), reader: true }, small('mine'))
  assert.deepEqual(names(), ['job of mine', 'preview of mine', 'small of guest', 'small of mine'])
  put(small('third'))
  assert.equal(begun.length, 4, 'two at a time')
  end(begun[3]!)
  assert.equal(begun.at(-1)!.owner, 'third')
})

test('beside others a workspace gets its share of the processors, and pauses four times as long as it ran beyond that', () => {
  const { scheduler, put, end, pass, begun, names } = setUp(1)
  put(preview('flood'), small('flood'), small('flood'), job('quiet'))
  assert.deepEqual(names(), ['preview of flood', 'small of flood', 'job of quiet'])
  // The item began while no other owner had any.
  end(begun[1]!, 30)
  const beyond = begun[3]!
  assert.equal(beyond.queue, 'small')
  put(small('flood'))
  end(beyond, 30)
  assert.equal(begun.length, 4)
  assert.equal(scheduler.nextRest, 120)
  put(small('quiet'))
  assert.deepEqual(
    names().slice(4),
    ['small of quiet'],
    'one process of two is its share, and it has not rested yet',
  )
  end(begun[4]!, 100)
  assert.equal(begun.length, 5)
  pass(20)
  assert.deepEqual(names().slice(5), ['small of flood'])
  end(begun[5]!, 60_000)
  put(small('flood'))
  assert.equal(scheduler.nextRest, 2_000, 'no rest is longer, however long the task was')
  end(begun[2]!)
  assert.deepEqual(names().slice(6), ['small of flood'], 'alone it waits for nobody')
})

test('a workspace rests from nothing within its share, and jobs rest never', () => {
  const four = setUp(3, 4)
  four.put(job('mine'), job('other'), small('mine'))
  four.end(four.begun[2]!, 500)
  four.put(small('mine'))
  assert.deepEqual(
    four.names().slice(2),
    ['small of mine', 'small of mine'],
    'two of four processors are its share',
  )
  const two = setUp(2)
  two.put(job('mine'), small('other'), job('mine'))
  two.end(two.begun[2]!, 500)
  two.put(job('mine'))
  assert.deepEqual(two.names().slice(2), ['job of mine', 'job of mine'])
  assert.equal(two.scheduler.nextRest, null)
})
