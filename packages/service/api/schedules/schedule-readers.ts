/** Checks that a schedule has the readers that its template needs, for the API and for files of the repository. */
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { AppError } from '@assay/model/errors'
import type { NewSchedule } from '@assay/store/contract/schedules'
import type { Store } from '@assay/store/store'
import { isPersonal, takesReader } from '../../templates/personal.ts'
import { invalid } from '../http/validate.ts'
import { noUse, refuseOthers } from '../readers/job-reader.ts'
import { refuseReader } from '../subscriptions/notify.ts'

type Checked = Pick<NewSchedule, 'workspace_id' | 'user_id' | 'readers' | 'notify' | 'variables'>

/**
 * Checks who gets the insights. A schedule of a personal template runs for its readers, or for its user if that user
 * is a reader. Throws `reader_missing` if there is no reader, and `invalid` for readers without a use and for others
 * who would be told.
 */
export async function checkReaders(
  store: Pick<Store, 'findReaderOf'>,
  { readers = null, workspace_id, user_id, notify = null, variables }: Checked,
  template: FoundTemplate,
): Promise<void> {
  if (readers === null) {
    if (!isPersonal(template, variables)) return refuseReader(notify)
    if (!(await store.findReaderOf({ workspace_id, user_id })))
      throw new AppError('reader_missing', NO_READER)
    return refuseOthers(notify, 'notify')
  }
  if (!takesReader(template)) throw noUse('readers')
  if (notify?.length) throw invalid([{ path: 'notify', message: EACH_IS_SENT }])
}

const EACH_IS_SENT =
  'must be left out: each of the readers with an address gets the own insight by mail, and nobody else does'

const NO_READER =
  'The template shows each reader rows of their own: give the schedule readers ("all", ids, or {"where": ...}), or have an admin make its user a reader.'
