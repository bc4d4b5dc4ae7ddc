/** The git repository of templates. A claim looks at it, and a settle writes the result. */
import { iso } from '@assay/model/clock'
import type { Repository, RepositoryTree } from '@assay/model/repository'
import { HOLD_MS } from '../../contract/workspaces/repositories.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { REPOSITORIES } from '../../tables/workspaces/repositories.ts'
import { applyTree } from './tree.ts'

const HEAD = REPOSITORIES.except('tree')
const OF_ID = by('repository_id')
const OF_CLAIM = by('repository_id', 'revision')
const FIND = REPOSITORIES.select(OF_ID, HEAD)
const FIND_TREE = REPOSITORIES.select(OF_ID, ['taken', 'tree'])
const LOCK = REPOSITORIES.select(`${OF_ID} FOR UPDATE`, HEAD)
const LOCK_CLAIM = REPOSITORIES.select(`${OF_CLAIM} FOR UPDATE`, HEAD)
const LOCK_DUE = REPOSITORIES.select(
  `${OF_ID} AND held_until <= :at AND (asked OR due_at <= :at) FOR UPDATE SKIP LOCKED`,
  HEAD,
)
const INSERT = REPOSITORIES.insert(REPOSITORIES.columns, 'ON CONFLICT DO NOTHING')
const MOVE = REPOSITORIES.update(['address', 'branch', 'folder', 'latest', 'asked'], OF_ID)
const ASK = REPOSITORIES.update(['asked'], OF_ID)
const CLAIM = REPOSITORIES.update(['asked', 'held_until', 'revision'], OF_ID)
const HOLD = REPOSITORIES.update(['held_until'], OF_CLAIM)
const SETTLE = REPOSITORIES.update(['latest', 'pulled_at', 'unreached', 'due_at', 'held_until'], OF_CLAIM)
const TAKE = REPOSITORIES.update(['taken', 'tree', 'owned'], OF_CLAIM)

export function* openRepository(tx: Writer, input: Input<'openRepository'>): Routine<Repository> {
  const owned = { schedules: {}, connections: [] }
  const fresh = { ...input, owned, asked: false, due_at: tx.now, held_until: tx.now, revision: 0 }
  yield* tx.run(INSERT, fresh)
  const present = (yield* tx.find(LOCK, input))!
  const { address, branch, folder } = input
  if (present.address === address && present.branch === branch && present.folder === folder) return present
  const moved = { ...present, ...input, latest: null, asked: true }
  yield* tx.run(MOVE, moved)
  return moved
}

export function* getRepository(from: Reader, repository_id: string): Routine<Repository | null> {
  return (yield* from.find(FIND, { repository_id })) ?? null
}

export function* getRepositoryTree(
  from: Reader,
  repository_id: string,
): Routine<{ commit_id: string; tree: RepositoryTree } | null> {
  const found = yield* from.find(FIND_TREE, { repository_id })
  return found?.taken && found.tree ? { commit_id: found.taken.commit_id, tree: found.tree } : null
}

export function* askRepository(tx: Writer, repository_id: string): Routine<boolean> {
  return (yield* tx.run(ASK, { repository_id, asked: true })) > 0
}

const later = (now: string, ms: number): string => iso(Date.parse(now) + ms)

export function* claimRepository(tx: Writer, repository_id: string): Routine<Repository | null> {
  const found = yield* tx.find(LOCK_DUE, { repository_id, at: tx.now })
  if (!found) return null
  const held_until = later(tx.now, HOLD_MS)
  const revision = found.revision + 1
  yield* tx.run(CLAIM, { repository_id, asked: false, held_until, revision })
  return { ...found, held_until, revision }
}

export function* holdRepository(tx: Writer, claim: Input<'holdRepository'>): Routine<boolean> {
  return (yield* tx.run(HOLD, { ...claim, held_until: later(tx.now, HOLD_MS) })) > 0
}

export function* settleRepository(tx: Writer, input: Input<'settleRepository'>): Routine<boolean> {
  const { pulled, every_ms, ...claim } = input
  const present = yield* tx.find(LOCK_CLAIM, claim)
  if (!present) return false
  const at = tx.now
  const settled = { ...present, due_at: later(at, every_ms), held_until: at }
  if ('unreached' in pulled) {
    yield* tx.run(SETTLE, { ...settled, unreached: { at, detail: pulled.unreached } })
    return true
  }
  Object.assign(settled, { pulled_at: at, unreached: null })
  if ('commit' in pulled) {
    const { commit, faults, tree, owner } = pulled
    settled.latest = { ...commit, status: tree ? 'taken' : 'refused', looked_at: at, faults }
    if (tree) {
      const owned = yield* applyTree(tx, { before: present.owned, tree, owner })
      yield* tx.run(TAKE, { ...claim, taken: { ...commit, taken_at: at }, tree, owned })
    }
  }
  yield* tx.run(SETTLE, settled)
  return true
}
