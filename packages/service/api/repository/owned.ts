/** Guards schedules and connections that the repository owns. They are changed only there. */
import { AppError } from '@assay/model/errors'
import { REPOSITORY_ID } from '@assay/model/repository'
import type { Services } from '../dependencies.ts'

/** Throws `conflict` with the name of the file if the repository owns the object. */
export async function refuseOwned(
  { repository, store }: Pick<Services, 'repository' | 'store'>,
  wanted: { schedule_id: string } | { connection: string },
): Promise<void> {
  if (!repository) return
  const owned = (await store.getRepository(REPOSITORY_ID))?.owned
  const file =
    'schedule_id' in wanted
      ? Object.entries(owned?.schedules ?? {}).find(([, id]) => id === wanted.schedule_id)?.[0]
      : owned?.connections.find((name) => name === wanted.connection)
  if (file === undefined) return
  const [what, folder] = 'schedule_id' in wanted ? ['schedule', 'schedules'] : ['connection', 'connections']
  throw new AppError(
    'conflict',
    `The ${what} comes from ${repository.name}, file ${folder}/${file}.yaml: push a change there.`,
  )
}
