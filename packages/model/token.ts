/** A token gives one user of a workspace the rights of its scopes. The store keeps tokens and passwords as hashes only. */
import type { Static } from 'typebox'
import { nullable, Type } from './schema.ts'

export const SCOPES = ['viewer', 'analyst', 'publisher', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/**
 * Tells whether the held scopes include one. `viewer` reads, `analyst` also runs jobs and webhooks, `publisher` also
 * publishes templates and metrics, `admin` also manages. Each includes the ones before it.
 */
export function includesScope(held: readonly Scope[], wanted: Scope): boolean {
  return held.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(wanted))
}

/** Returns the scopes with those that each includes. */
export function fullScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => includesScope(scopes, scope))
}

/** Returns the scopes that a holder of `held` may pass on. */
export function boundScopes(scopes: readonly Scope[], held: readonly Scope[]): Scope[] {
  const isAll = scopes.every((scope) => includesScope(held, scope))
  return isAll ? [...scopes] : fullScopes(scopes).filter((scope) => includesScope(held, scope))
}

/** The default workspace: the one that reads the folder ASSAY_DATA. */
export const DEFAULT_WORKSPACE = 'default'

const BYTES_MOST = 1e15

const cap = (description: string, minimum = 0, maximum = 1_000_000_000) =>
  Type.Union([Type.Integer({ minimum, maximum }), Type.Null()], { description })

/** The limits of a workspace; null uses the limit that the settings give every workspace. */
export const WorkspaceCaps = Type.Object({
  max_queued: cap('Jobs queued at a time; null: ASSAY_MAX_QUEUED'),
  max_running: cap('Jobs running at a time; 0 holds them in the queue; null: ASSAY_MAX_RUNNING'),
  max_processor_seconds: cap(
    'Processor seconds of its analyses in an hour (UTC), on all nodes together; null: ASSAY_MAX_PROCESSOR_SECONDS',
    1,
  ),
  max_spill_bytes: cap(
    'Bytes that its analyses on a node may write to disk while they run; null: ASSAY_WORKSPACE_SPILL',
    1_000_000,
    BYTES_MOST,
  ),
  max_stored_bytes: cap(
    'Bytes of its stored jobs and insights together; null: ASSAY_WORKSPACE_STORED',
    1_000_000,
    BYTES_MOST,
  ),
  rate_limit: cap('Requests a second, on each node; null: ASSAY_WORKSPACE_RATE_LIMIT', 1),
  max_file_bytes: cap('Bytes of one upload; null: ASSAY_MAX_FILE', 0, BYTES_MOST),
  max_files_bytes: cap('Bytes of all uploads together; null: ASSAY_FILES_QUOTA', 0, BYTES_MOST),
})
export type WorkspaceCaps = Static<typeof WorkspaceCaps>

export const NO_WORKSPACE_CAPS: WorkspaceCaps = {
  max_queued: null,
  max_running: null,
  max_processor_seconds: null,
  max_spill_bytes: null,
  max_stored_bytes: null,
  rate_limit: null,
  max_file_bytes: null,
  max_files_bytes: null,
}

export const Workspace = Type.Object(
  {
    workspace_id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    /**
     * The absolute path of the folder that `file:` sources read; null for none (the default workspace reads
     * ASSAY_DATA).
     */
    data_folder: nullable(Type.String()),
    ...WorkspaceCaps.properties,
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Workspace' },
)
export type Workspace = Static<typeof Workspace>
export type WorkspacePatch = Partial<Omit<Workspace, 'workspace_id' | 'created_at'>>

export const User = Type.Object(
  {
    user_id: Type.String(),
    workspace_id: Type.String(),
    username: Type.String({ minLength: 1, maxLength: 255 }),
    display_name: nullable(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The name that people read; null: the username',
      }),
    ),
    issuer: nullable(
      Type.String({
        description:
          'The sign-in provider that the user comes from, whose groups say the scopes; null: the user was made here',
      }),
    ),
    scopes: Type.Array(Type.Enum([...SCOPES]), {
      description: 'None: the sign-in provider no longer lets the user in',
    }),
    admitted_until: nullable(
      Type.String({
        format: 'date-time',
        description:
          'Of a user of a sign-in provider: the scopes have lapsed then unless the user signs in there again before; null: the user was made here',
      }),
    ),
    disabled: Type.Boolean({ description: 'True: neither signs in nor uses a token' }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'User' },
)
export type User = Static<typeof User>

/**
 * Tells whether the rights from a sign-in provider have expired. They last until the next sign-in there. `now`:
 * milliseconds since 1970.
 */
export function hasLapsed({ admitted_until }: Pick<User, 'admitted_until'>, now: number): boolean {
  return admitted_until !== null && Date.parse(admitted_until) <= now
}

export type UserPatch = Partial<
  Pick<User, 'scopes' | 'disabled' | 'display_name'> & { password_hash: string }
>

/** A person at a sign-in provider: the issuer, and the id that the issuer gives to no other person. */
export interface Identity {
  issuer: string
  subject: string
}

const Time = Type.String({ format: 'date-time' })

/** A browser in which a person is signed in. Its cookie holds the secret; the store holds the hash. */
export const SignIn = Type.Object(
  {
    sign_in_id: Type.String({ format: 'uuid' }),
    device: Type.String({ description: 'The browser and its system, as the browser names them' }),
    address: Type.String({ description: 'The address of the last use' }),
    created_at: Time,
    last_used_at: Type.String({ format: 'date-time', description: 'The last request, to about a minute' }),
    idle_ends_at: Type.String({ format: 'date-time', description: 'It ends then unless it is used before' }),
    ends_at: Type.String({ format: 'date-time', description: 'It ends then in any case' }),
  },
  { title: 'SignIn' },
)
export type SignIn = Static<typeof SignIn>

/** A program that acts in the name of a person who has agreed. */
export const LetIn = Type.Object(
  {
    token_id: Type.String({ format: 'uuid', description: 'Of its token, in the list of tokens' }),
    name: Type.String({
      description: '`agent: NAME`, as the program names itself, unless an admin has changed it',
    }),
    scopes: Type.Array(Type.Enum([...SCOPES]), { description: 'What you have agreed to' }),
    redirect_host: Type.String({ description: 'Where your answer went' }),
    created_at: Time,
    last_used_at: nullable(
      Type.String({ format: 'date-time', description: 'The last request, to about a minute' }),
    ),
    ends_at: Type.String({
      format: 'date-time',
      description: 'It ends then unless the program refreshes it before',
    }),
  },
  { title: 'Grant' },
)
export type LetIn = Static<typeof LetIn>

export const Token = Type.Object(
  {
    token_id: Type.String({ format: 'uuid' }),
    workspace_id: Type.String(),
    user_id: Type.String({ description: 'The user, or `service:NAME` of a service account' }),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: Type.Array(Type.Enum([...SCOPES])),
    templates: nullable(
      Type.Array(Type.String(), {
        description: 'The templates that it may run, and whose insights it may read; null: all',
      }),
    ),
    collections: nullable(
      Type.Array(Type.String(), {
        description: 'The collections whose insights it may read, and nothing else; null: no such limit',
      }),
    ),
    expires_at: nullable(Type.String({ format: 'date-time' })),
    created_at: Type.String({ format: 'date-time' }),
    last_used_at: nullable(
      Type.String({ format: 'date-time', description: 'The last request with it, to about a minute' }),
    ),
  },
  { title: 'Token' },
)
export type Token = Static<typeof Token>
export type TokenPatch = Partial<Pick<Token, 'name' | 'scopes' | 'expires_at'>>

/** The name of the tokens that logins make. They end with the sign-ins of their user. */
export const LOGIN_TOKEN = 'login'

/** The most users and the most tokens of a workspace. Tokens of logins are limited for each user. */
export const USERS_MOST = 10_000
export const TOKENS_MOST = 10_000
export const LOGINS_MOST = 1000
/** The most browsers in which a user is signed in. A further sign-in ends the oldest one. */
export const SIGN_INS_MOST = 100

/** The name of the token of this setting. A start with another value replaces the token of this name. */
export const SETTING_TOKEN = 'ASSAY_TOKEN'

const USER_ID_MOST = 255
const SERVICE = 'service:'

/** Returns the user id of a token that belongs to no person. Tokens of one name are one account. */
export function serviceAccount(name: string): string {
  return `${SERVICE}${name}`.slice(0, USER_ID_MOST)
}

export function isServiceAccount(user_id: string): boolean {
  return user_id.startsWith(SERVICE)
}

/** The caller of a request, from its valid token or sign-in. */
export interface Principal {
  /** The id of the token, or the `sign_in_id` of a sign-in. */
  token_id: string
  /** The token with which a sign-in began; null for a password or the sign-in provider. Absent for a token. */
  begun_with?: string | null
  workspace_id: string
  user_id: string
  scopes: Scope[]
  /** The templates that the caller is limited to; null for no limit. */
  templates: string[] | null
  /** The collections that the caller is limited to; null for no limit. A sign-in has none. */
  collections: string[] | null
  /** The reader who is this user; null if there is none. */
  reader_id: string | null
  /** The workspace's own cap of requests a second; null if it has none. */
  rate_limit: number | null
}
