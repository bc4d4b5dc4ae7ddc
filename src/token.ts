/** Who may do what: workspaces, users and their tokens. Tokens and passwords are kept as hashes only. */
import Type, { type Static } from 'typebox'

export const SCOPES = ['viewer', 'analyst', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** `viewer` reads, `analyst` also runs jobs and webhooks, `admin` also manages: each includes the ones before it. */
export function includesScope(held: readonly Scope[], wanted: Scope): boolean {
  return held.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(wanted))
}

/** The default workspace: the one that reads the folder ASSAY_DATA. */
export const DEFAULT_WORKSPACE = 'default'

export const Workspace = Type.Object(
  {
    workspace_id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    /** Absolute path of the folder that `file:` sources read; null: none (the default workspace reads ASSAY_DATA). */
    data_folder: Type.Union([Type.String(), Type.Null()]),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Workspace' },
)
export type Workspace = Static<typeof Workspace>

export const User = Type.Object(
  {
    user_id: Type.String(),
    workspace_id: Type.String(),
    username: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: Type.Array(Type.Enum([...SCOPES])),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'User' },
)
export type User = Static<typeof User>

export const Token = Type.Object(
  {
    token_id: Type.String({ format: 'uuid' }),
    workspace_id: Type.String(),
    user_id: Type.String(),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: Type.Array(Type.Enum([...SCOPES])),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Token' },
)
export type Token = Static<typeof Token>

/** Who makes a request: what a valid token says. */
export interface Principal {
  token_id: string
  workspace_id: string
  user_id: string
  scopes: Scope[]
}
