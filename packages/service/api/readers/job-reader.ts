/** The reader of a job: who may name one, and whether the template has a use for her. */
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { AppError } from '@assay/model/errors'
import { type Reader, readerFault } from '@assay/model/reader'
import { asReader, ReaderId, type StoredReader } from '@assay/model/readers'
import { nullable, Type } from '@assay/model/schema'
import { includesScope, type Principal } from '@assay/model/token'
import { isPersonal, lackOf, takesReader } from '../../templates/personal.ts'
import type { Call } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

export const JobReader = nullable(
  Type.String({
    ...ReaderId,
    description:
      'The reader for whom a personal template is run; the insight is hers alone. Only an admin names another reader than the own user (default: the reader who is the user, where the template is personal)',
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
  'The template shows each reader rows of her own, and this run has no reader: send reader_id, or have an admin make your user a reader (PUT /v1alpha/readers/{reader_id} with your user_id).'

/** The readers of these ids. Throws a 422 with each that is unknown. */
async function known(
  { services, principal: { workspace_id } }: Asking,
  wanted: readonly string[],
  at: (id: string) => string,
): Promise<Map<string, StoredReader>> {
  const reader_ids = [...new Set(wanted)]
  const found = await services.store.findReaders({ workspace_id, reader_ids })
  const readers = new Map(found.map((one) => [one.reader_id, one]))
  const faults = reader_ids
    .filter((id) => !readers.has(id))
    .map((id) => ({
      path: at(id),
      message: `names no reader of this workspace: ${id}. GET /v1alpha/readers ("assay readers list") lists them`,
    }))
  if (faults.length > 0) throw invalid(faults)
  return readers
}

/**
 * The readers of many jobs of one template, in their order; null: it is no reader's. Throws `forbidden` where the caller may not
 * name one, `invalid` for one who is unknown or of no use, and `reader_missing` where there is none or one lacks an attribute.
 */
export async function readersOf(
  asking: Asking,
  template: Found,
  given: readonly (string | null | undefined)[],
  at: (index: number) => string,
): Promise<(StoredReader | null)[]> {
  const { principal } = asking
  const personal = isPersonal(template)
  const own = personal ? principal.reader_id : null
  const wanted = given.map((id) => id ?? own)
  const named = given.flatMap((id) => id ?? [])
  refuseForeign(principal, named)
  if (named.length > 0 && !takesReader(template)) throw noUse(at(given.findIndex((id) => id)))
  if (personal && wanted.includes(null)) throw new AppError('reader_missing', NOBODY)
  const ids = wanted.filter((id) => id !== null)
  if (ids.length === 0) return wanted.map(() => null)
  const readers = await known(asking, ids, (id) => at(wanted.indexOf(id)))
  for (const reader of readers.values()) {
    const lack = lackOf(template, reader)
    if (lack !== null) throw new AppError('reader_missing', lack)
  }
  return wanted.map((id) => (id === null ? null : readers.get(id)!))
}

/** The same of one job. */
export async function readerOf(
  asking: Asking,
  template: Found,
  given: string | null | undefined,
  at: string,
): Promise<StoredReader | null> {
  return (await readersOf(asking, template, [given], () => at))[0]!
}

/** A personal insight is sent to its reader alone. */
export function refuseNotify(notify: readonly string[] | null | undefined, at: string): null {
  if (!notify || notify.length === 0) return null
  throw invalid([
    {
      path: at,
      message:
        'must be left out: a personal insight is told to no other than its reader, by a schedule over readers',
    },
  ])
}

/**
 * The reader of a preview, which is stored nowhere: as the caller describes her. Who may preview a source may read all of its
 * rows, so no attribute shows more. An admin may name a stored reader by the id alone. Throws `reader_missing` and `invalid`.
 */
export async function previewReader(
  { services, principal }: Asking,
  template: Found,
  given: Record<string, unknown> | null,
): Promise<Reader | null> {
  if (given === null) {
    if (isPersonal(template)) throw new AppError('reader_missing', UNDESCRIBED)
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
