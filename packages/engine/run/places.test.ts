import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { MOST_WAITING, type Placed, Places } from './places.ts'

const job = (owner: string): Placed => ({ work: 'job', owner })
const preview = (owner: string, max_running: number | null = null): Placed => ({
  work: 'preview',
  owner,
  max_running,
})
const small = (owner: string): Placed => ({ work: 'small', owner })

/** Places where everything that may begins at once; what began, in order. */
function setUp(size: number) {
  const places = new Places<Placed>(size)
  const begun: Placed[] = []
  const go = (): void => {
    for (let next = places.next(); next; next = places.next()) {
      places.begin(next)
      begun.push(next)
    }
  }
  return {
    places,
    begun,
    put(...items: Placed[]) {
      for (const item of items) {
        places.add(item)
        go()
      }
    },
    end(item: Placed) {
      places.end(item)
      go()
    },
    names: () => begun.map(({ work, owner }) => `${work} of ${owner}`),
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

test('previews leave a place to jobs, and come after those that wait', () => {
  const { put, end, begun, names } = setUp(2)
  put(preview('guest'), preview('other'), preview('guest'), job('mine'), job('mine'))
  assert.deepEqual(names(), ['preview of guest', 'job of mine'])
  end(begun[0]!)
  assert.deepEqual(names().slice(2), ['job of mine'])
  end(begun[1]!)
  assert.deepEqual(names().slice(3), ['preview of other'])
})

test('no more previews of a workspace run than its max_running, and those of others pass', () => {
  const { put, end, begun, names } = setUp(4)
  put(preview('guest', 1), preview('guest', 1), preview('other', 2), preview('other', 2))
  assert.deepEqual(names(), ['preview of guest', 'preview of other', 'preview of other'])
  end(begun[1]!)
  assert.equal(begun.length, 3)
  end(begun[0]!)
  assert.deepEqual(names().slice(3), ['preview of guest'])
})

test('where there is one place for jobs, a job waits for one preview at most', () => {
  const { put, end, begun, names } = setUp(1)
  put(preview('guest'), preview('guest'), job('mine'))
  end(begun[0]!)
  assert.deepEqual(names(), ['preview of guest', 'job of mine'])
})

test('a small task always has a place, and a second one only where another stays free', () => {
  const { put, begun, names } = setUp(2)
  put(small('guest'), small('guest'), small('guest'), job('mine'))
  assert.deepEqual(names(), ['small of guest', 'small of guest', 'job of mine'])
  const busy = setUp(2)
  busy.put(job('mine'), job('mine'), small('guest'), small('other'))
  assert.deepEqual(busy.names(), ['job of mine', 'job of mine', 'small of guest'])
  busy.end(busy.begun[2]!)
  assert.equal(busy.names().at(-1), 'small of other')
  assert.equal(begun.length, 3)
})

test('a workspace has a bounded number waiting, and is told the cap, its value and when to come again', () => {
  for (const [make, cap] of [
    [preview, 'previews waiting'],
    [small, 'checks waiting'],
  ] as const) {
    const { places, put } = setUp(1)
    const most = MOST_WAITING[make('').work as 'preview' | 'small']
    for (let count = 0; count <= most; count += 1) {
      places.vet(make('guest'))
      put(make('guest'))
    }
    const refused = refusal(() => places.vet(make('guest')))
    assert.deepEqual([refused.code, refused.status, refused.retryAfter], ['workspace_busy', 429, 10])
    assert.ok(refused.message.includes(`(${cap}: ${most})`), refused.message)
    places.vet(make('other'))
    places.vet(job('guest'))
  }
})

test("a workspace's max_queued and a max_running of none bound its previews, too", () => {
  const { places, put } = setUp(1)
  assert.match(refusal(() => places.vet(preview('held', 0))).message, /\(max_running: 0\)/)
  places.vet(preview('guest', 1), 0)
  put(preview('guest', 1))
  assert.match(refusal(() => places.vet(preview('guest', 1), 0)).message, /\(max_queued: 0\)/)
})
