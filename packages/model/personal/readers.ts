/**
 * A reader: a person for whom personal insights are made. The attributes choose the rows that a template shows her.
 * She may have a mail address and an account.
 */
import type { Static } from 'typebox'
import type { FieldError } from '../errors.ts'
import { uuidFor } from '../ids.ts'
import type { Reader } from '../insights/reader.ts'
import { nullable, Type } from '../schema.ts'
import { isMailAddress } from '../webhooks/subscription.ts'
import { RESERVED_ATTRIBUTES } from './limits.ts'

/** The pattern of the id that the caller gives, such as a mail address or a staff number. It stands in a path. */
const READER_ID = '^[^\\s/?#%\\\\.][^\\s/?#%\\\\]{0,254}$'
const ATTRIBUTE = /^[a-z_][a-z0-9_]{0,62}$/
const TEXT_MOST = 1000

/** The most readers of a workspace. */
export const READERS_MOST = 100_000
/** The most attributes of one reader, and the most characters that they have together as JSON. */
const ATTRIBUTES_MOST = 50
const ATTRIBUTES_LENGTH = 16_000

export const ReaderId = Type.String({
  pattern: READER_ID,
  description:
    'Your own id of the person: up to 255 characters without blanks, slashes, `?`, `#`, `%` and a leading dot',
})

const ATTRIBUTES = `What templates read as \`$reader.NAME\` in SQL and \`reader.NAME\` in text: a text, a number, true or false, or a list of texts; at most ${ATTRIBUTES_MOST}, with ${ATTRIBUTES_LENGTH} characters together. \`id\`, \`name\` and \`email\` are known already`

const ReaderAttributes = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Array(Type.String())]),
  { description: ATTRIBUTES },
)
export type ReaderAttributes = Static<typeof ReaderAttributes>

const settable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  email: nullable(Type.String({ maxLength: 254, description: 'Where personal insights are sent' })),
  user_id: nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The user who is this reader: only admins and this user read the insights of the reader',
    }),
  ),
  attributes: ReaderAttributes,
}

/** A reader as a client describes her. */
export const ReaderInput = Type.Object({
  name: settable.name,
  email: Type.Optional(settable.email),
  user_id: Type.Optional(settable.user_id),
  attributes: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: ATTRIBUTES })),
})
export type ReaderInput = Static<typeof ReaderInput>

export const ReaderView = Type.Object(
  {
    reader_id: ReaderId,
    ...settable,
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Reader' },
)
export type ReaderView = Static<typeof ReaderView>

/** A reader as the store keeps it. */
export interface StoredReader extends ReaderView {
  workspace_id: string
}

export function readerView(reader: StoredReader): ReaderView {
  const { workspace_id: _, ...view } = reader
  return view
}

function isAttribute(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isText)
  return typeof value === 'number' ? Number.isFinite(value) : typeof value === 'boolean' || isText(value)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= TEXT_MOST

function attributeFault(name: string, value: unknown): string | null {
  if ((RESERVED_ATTRIBUTES as readonly string[]).includes(name))
    return `is the ${name} of the reader already: leave it out, or use another name`
  if (!ATTRIBUTE.test(name))
    return 'is not a name of an attribute: use up to 63 lower-case letters, digits and underscores, a digit not first'
  return isAttribute(value)
    ? null
    : `must be a text of at most ${TEXT_MOST} characters, a number, true or false, or a list of such texts`
}

/** Returns the faults that the schema does not find. `at`: the path of the reader in the body, with its dot. */
export function readerFaults(
  { email, attributes = {} }: Pick<ReaderInput, 'email' | 'attributes'>,
  at: string,
): FieldError[] {
  const faults: FieldError[] = []
  const refuse = (path: string, message: string): void => void faults.push({ path: `${at}${path}`, message })
  if (typeof email === 'string' && !isMailAddress(email))
    refuse('email', 'must be a plain address such as ada@example.com, or null')
  for (const [name, value] of Object.entries(attributes)) {
    const fault = attributeFault(name, value)
    if (fault !== null) refuse(`attributes.${name}`, fault)
  }
  const count = Object.keys(attributes).length
  if (count > ATTRIBUTES_MOST) refuse('attributes', `must be at most ${ATTRIBUTES_MOST}, not ${count}`)
  const { length } = JSON.stringify(attributes)
  if (length > ATTRIBUTES_LENGTH)
    refuse('attributes', `must have at most ${ATTRIBUTES_LENGTH} characters as JSON, not ${length}`)
  return faults
}

/** Returns the reader in the form that templates read. */
export function asReader({ reader_id, name, email, attributes }: StoredReader): Reader {
  return { ...attributes, id: reader_id, name, ...(email === null ? {} : { email }) }
}

/**
 * Returns the id of the subscription that sends a reader her insights to this address. No operation on subscriptions
 * finds it.
 */
export function readerMailId(workspace_id: string, reader_id: string, email: string): string {
  return uuidFor(0, `reader ${workspace_id} ${reader_id} ${email}`)
}
