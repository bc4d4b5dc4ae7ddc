/** Writes the schedules and connections of a commit, in the transaction that takes it. */
import { isDeepStrictEqual } from 'node:util'
import { leadsElsewhere } from '@assay/model/connection'
import { uuidv7 } from '@assay/model/ids'
import type {
  RepositoryConnection,
  RepositoryOwned,
  RepositorySchedule,
  RepositoryTree,
} from '@assay/model/repository'
import type { Routine, Writer } from '../../rows.ts'
import { createSchedule, deleteSchedule, getSchedule, updateSchedule } from '../jobs/schedules.ts'
import {
  createConnection,
  deleteConnection,
  getConnection,
  updateConnection,
} from '../workspaces/connections.ts'

interface Owner {
  workspace_id: string
  user_id: string
}

/** Writes a schedule and returns its id. An unchanged schedule keeps its revision, so that a claim under way can settle. */
function* putSchedule(
  tx: Writer,
  owner: Owner,
  schedule_id: string,
  wanted: RepositorySchedule,
): Routine<string> {
  const key = { workspace_id: owner.workspace_id, schedule_id }
  const present = yield* getSchedule(tx, key)
  if (!present) yield* createSchedule(tx, { ...wanted, ...owner, schedule_id })
  else {
    const fields = Object.keys(wanted) as (keyof RepositorySchedule)[]
    if (fields.some((field) => !isDeepStrictEqual(present[field], wanted[field])))
      yield* updateSchedule(tx, { ...key, patch: wanted })
  }
  return schedule_id
}

function* putConnection(tx: Writer, owner: Owner, name: string, wanted: RepositoryConnection): Routine<void> {
  const key = { workspace_id: owner.workspace_id, name }
  const present = yield* getConnection(tx, key)
  if (present?.kind === wanted.kind) {
    const { kind: _kind, ...rest } = wanted
    const moved = leadsElsewhere(present.options, wanted.options) ? present.secrets : []
    const secrets = moved.map((one) => ({ name: one.name, sealed: null }))
    yield* updateConnection(tx, { ...key, patch: { ...rest, secrets } })
    return
  }
  if (present) yield* deleteConnection(tx, key)
  yield* createConnection(tx, { ...key, ...wanted, secrets: [], user_id: owner.user_id })
}

/** Writes the tree. Returns the objects that the repository owns from now on. */
export function* applyTree(
  tx: Writer,
  { before, tree, owner }: { before: RepositoryOwned; tree: RepositoryTree; owner: Owner },
): Routine<RepositoryOwned> {
  const { workspace_id } = owner
  const owned: RepositoryOwned = { schedules: {}, connections: [] }
  for (const [file, wanted] of Object.entries(tree.schedules))
    owned.schedules[file] = yield* putSchedule(tx, owner, before.schedules[file] ?? uuidv7(), wanted)
  for (const [file, schedule_id] of Object.entries(before.schedules))
    if (!Object.hasOwn(tree.schedules, file)) yield* deleteSchedule(tx, { workspace_id, schedule_id })
  for (const [name, wanted] of Object.entries(tree.connections)) {
    const mine = before.connections.includes(name)
    if (!mine && (yield* getConnection(tx, { workspace_id, name }))) continue
    yield* putConnection(tx, owner, name, wanted)
    owned.connections.push(name)
  }
  for (const name of before.connections)
    if (!Object.hasOwn(tree.connections, name)) yield* deleteConnection(tx, { workspace_id, name })
  return owned
}
