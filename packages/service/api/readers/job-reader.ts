/** Finds the reader of a job, and checks who may name one and whether the template uses one. */
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { AppError } from '@assay/model/errors'
import { type Reader, readerFault } from '@assay/model/reader'
import { asReader, ReaderId, type StoredReader } from '@assay/model/readers'
import { nullable, Type } from '@assay/model/schema'
import { READER } from '@assay/model/subscription'
import { includesScope, type Principal } from '@assay/model/token'
import { mailOf } from '../../readers/reader-mail.ts'
import { isPersonal, lackOf, takesReader } from '../../templates/personal.ts'
import type { Call } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

export const JobReader = nullable(
  Type.String({
    ...ReaderId,
    description:
      'The reader for whom a personal template is run; the insight belongs to that reader alone. Only an admin names another reader than the own user (default: the reader who is the user, where the template is personal)',
  }),
)

type Asking = Pick<Call, 'services' | 'principal'>
type Found = Pick<FoundTemplate, 'view' | 'source'>

export const noUse = (at: string) =>
  invalid([
    {
      path: at,
      message:
        'has no use: the template gives every reader the same rows. Give a source or a metric of it a rule ("rows"), or leave this out',
    },
  ])

function refuseForeign({ scopes, reader_id: own }: Principal, wanted: readonly string[]): void {
  const foreign = wanted.find((one) => one !== own)
  if (foreign === undefined || includesScope(scopes, 'admin')) return
  throw new AppError(
    'forbidden',
    `Only an admin runs a template for another reader than the own user: leave reader_id out, or use a token with the scope admin.`,
  )
}

export const NOBODY =
  'The template shows each reader rows of their own, and this run has no reader: send reader_id, or have an admin make your user a reader (PUT /v1alpha/readers/{reader_id} with your user_id).'

/** The reader of a run, null for a run without one, or the reason why the run cannot have one. */
type OneReader = { reader: StoredReader | null } | { lack: 'unknown' | 'attribute'; message: string }

/** The reader that a request names for a run, if any, and the variables of the run. */
interface Whose {
  id: string | null | undefined
  values: Readonly<Record<string, unknown>>
}

/**
 * Returns the readers of many runs of one template, in their order. Throws `forbidden` if the caller may not name a
 * reader, `invalid` if the template uses none, and `reader_missing` if a run needs one and has none.
 */
export async function readersOf(
  { services, principal }: Asking,
  template: Found,
  given: readonly Whose[],
  at: (index: number) => string,
): Promise<OneReader[]> {
  const { workspace_id } = principal
  const named = given.flatMap(({ id }) => id ?? [])
  refuseForeign(principal, named)
  if (named.length > 0 && !takesReader(template)) throw noUse(at(given.findIndex(({ id }) => id)))
  const wanted = given.map(({ id, values }) => {
    if (id || !isPersonal(template, values)) return id ?? null
    if (principal.reader_id === null) throw new AppError('reader_missing', NOBODY)
    return principal.reader_id
  })
  const reader_ids = [...new Set(wanted.filter((id) => id !== null))]
  const found = reader_ids.length === 0 ? [] : await services.store.findReaders({ workspace_id, reader_ids })
  const readers = new Map(found.map((one) => [one.reader_id, one]))
  return wanted.map((id) => {
    if (id === null) return { reader: null }
    const reader = readers.get(id)
    if (!reader) return { lack: 'unknown', message: unknown(id) }
    const message = lackOf(template, reader)
    return message === null ? { reader } : { lack: 'attribute', message }
  })
}

const unknown = (id: string): string =>
  `names no reader of this workspace: ${id}. GET /v1alpha/readers ("assay readers list") lists them`

/**
 * Returns the reader of one run, by the rules of `readersOf`. Throws `invalid` for an unknown reader, and
 * `reader_missing` if the reader lacks an attribute.
 */
export async function readerOf(
  asking: Asking,
  template: Found,
  given: Whose,
  at: string,
): Promise<StoredReader | null> {
  if ((given.id ?? null) === null && !isPersonal(template, given.values)) return null
  const one = (await readersOf(asking, template, [given], () => at))[0]!
  if ('reader' in one) return one.reader
  throw one.lack === 'unknown'
    ? invalid([{ path: at, message: one.message }])
    : new AppError('reader_missing', one.message)
}

/** Throws a 422 if a personal insight would be sent to anybody but its reader. */
export function refuseOthers(notify: readonly string[] | null | undefined, at: string): void {
  if (!notify || notify.every((one) => one === READER)) return
  throw invalid([
    {
      path: at,
      message: `must be ["${READER}"] or left out: a personal insight is sent to its reader alone`,
    },
  ])
}

/**
 * Returns the subscription that sends a personal insight to its reader if `notify` asks for it, else null. Throws a
 * 422 if none can.
 */
export async function mailToReader(
  services: Asking['services'],
  reader: StoredReader,
  notify: readonly string[] | null | undefined,
  at: string,
): Promise<string[] | null> {
  refuseOthers(notify, at)
  if (!notify || notify.length === 0) return null
  const mail = await mailOf(services, reader)
  if (mail === null) throw invalid([{ path: `${at}.0`, message: noMail(services, reader) }])
  return [mail]
}

export function noMail(
  { config }: Pick<Asking['services'], 'config'>,
  { reader_id, email }: StoredReader,
): string {
  if (email === null) return `means mail to ${reader_id}, who has no address: put the reader with an "email"`
  return config.smtpUrl === null
    ? `means mail to ${reader_id}, and this service sends none: set ASSAY_SMTP_URL and ASSAY_MAIL_FROM`
    : `means mail to ${reader_id}, whose address may not be written to`
}

/**
 * Returns the reader of a preview, as the caller describes them. A preview is not stored, and a caller who may preview
 * a source may read all of its rows, so no attribute shows more. An admin may name a stored reader by the id alone.
 * Throws `reader_missing` and `invalid`.
 */
export async function previewReader(
  { services, principal }: Asking,
  template: Found,
  given: Record<string, unknown> | null,
): Promise<Reader | null> {
  if (given === null) {
    if (template.view.personal) throw new AppError('reader_missing', UNDESCRIBED)
    return null
  }
  if (!takesReader(template)) throw noUse('reader')
  const fault = readerFault(given)
  if (fault !== null) throw invalid([{ path: 'reader', message: fault }])
  const reader = given as Reader
  const { workspace_id, scopes } = principal
  if (Object.keys(reader).length > 1 || !includesScope(scopes, 'admin')) return reader
  const stored = await services.store.getReader({ workspace_id, reader_id: reader.id })
  return stored ? asReader(stored) : reader
}

const UNDESCRIBED =
  'The template shows each reader rows of their own: send the reader whose rows to show, such as "reader": {"id": "ada", "region": "north"}.'
