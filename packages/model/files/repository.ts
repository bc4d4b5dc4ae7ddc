/**
 * The git repository of templates (ASSAY_TEMPLATES): the served commit, and the result of the newest one. A commit is
 * taken whole or not at all.
 */
import type { Static } from 'typebox'
import type { Connection } from '../connection.ts'
import type { Schedule } from '../schedule.ts'
import { nullable, Type } from '../schema.ts'

/** The id of the only repository of a service. */
export const REPOSITORY_ID = 'templates'

const Time = Type.String({ format: 'date-time' })

export const RepositoryCommit = Type.Object({
  commit_id: Type.String({ description: 'The hash of the commit' }),
  subject: Type.String({ description: 'The first line of its message' }),
  author: Type.String(),
  committed_at: Time,
})
export type RepositoryCommit = Static<typeof RepositoryCommit>

export const RepositoryFault = Type.Object({
  file: Type.String({ description: 'Its path in the repository' }),
  line: Type.Integer({ description: '0: the whole file' }),
  column: Type.Integer(),
  code: Type.String({ description: 'A short name such as unknown_key or test_failed' }),
  message: Type.String(),
  severity: Type.Enum(['error', 'warning']),
})
export type RepositoryFault = Static<typeof RepositoryFault>

const TakenCommit = Type.Object({ ...RepositoryCommit.properties, taken_at: Time })
type TakenCommit = Static<typeof TakenCommit>

export const LatestCommit = Type.Object({
  ...RepositoryCommit.properties,
  status: Type.Enum(['taken', 'refused']),
  looked_at: Time,
  faults: Type.Array(RepositoryFault, { description: 'Why it was refused, and warnings' }),
})
export type LatestCommit = Static<typeof LatestCommit>

export const RepositoryView = Type.Object(
  {
    address: Type.String(),
    branch: nullable(Type.String({ description: "Null: the repository's own default" })),
    folder: Type.String({ description: 'Of the repository; empty: the whole' }),
    taken: nullable(TakenCommit),
    latest: nullable(LatestCommit),
    pulled_at: nullable(Type.String({ format: 'date-time', description: 'When the server answered last' })),
    unreached: nullable(
      Type.Object({ at: Time, detail: Type.String() }, { description: 'Why the last look failed' }),
    ),
    looking: Type.Boolean({ description: 'A node looks at the repository now, or is about to' }),
    conflicts: Type.Array(
      Type.Object({ kind: Type.Enum(['template', 'metric']), id: Type.String(), file: Type.String() }),
      {
        description:
          'What this workspace has by the API under the same id, which is used in place of the file',
      },
    ),
  },
  { title: 'Repository' },
)
export type RepositoryView = Static<typeof RepositoryView>

/** A schedule in a file. */
export type RepositorySchedule = Pick<
  Schedule,
  | 'name'
  | 'template_id'
  | 'variables'
  | 'cron'
  | 'time_zone'
  | 'starts_at'
  | 'ends_at'
  | 'missed'
  | 'missed_limit'
  | 'overlap'
  | 'paused'
  | 'presence_name'
  | 'notify'
  | 'readers'
  | 'priority'
  | 'metadata'
>

/** A connection in a file. The API gives its secrets. */
export type RepositoryConnection = Pick<Connection, 'kind' | 'description' | 'options' | 'limits'>

/**
 * The served content of a commit: texts by path below the folder, the commit that brought each template's version,
 * and schedules and connections by the name of their file.
 */
export interface RepositoryTree {
  files: Record<string, string>
  versions: Record<string, { version: string; commit_id: string }>
  schedules: Record<string, RepositorySchedule>
  connections: Record<string, RepositoryConnection>
}

/** The ids of the objects that the files of the repository have made, by file name. */
export interface RepositoryOwned {
  /** The ids of schedules. */
  schedules: Record<string, string>
  connections: string[]
}

/** The repository as the store keeps it, without its tree. */
export interface Repository {
  repository_id: string
  address: string
  branch: string | null
  folder: string
  taken: TakenCommit | null
  latest: LatestCommit | null
  pulled_at: string | null
  unreached: { at: string; detail: string } | null
  owned: RepositoryOwned
  /** True if somebody asked for a look before it is due. A refused commit is then tried again. */
  asked: boolean
  due_at: string
  /** The time until which the node that looks holds the repository. */
  held_until: string
  /** Rises with every claim and fences what its node writes. */
  revision: number
}
