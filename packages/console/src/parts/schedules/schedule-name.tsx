/** Links to a schedule by its name, and shows the id of a deleted schedule. */

import { ClientError } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { ShortId } from '../show.tsx'

export function useSchedule(schedule_id: string) {
  return useQuery({
    queryKey: ['schedule', schedule_id],
    queryFn: () => api().schedules.get(schedule_id),
  })
}

export function ScheduleName({ schedule_id }: { schedule_id: string }) {
  const { data, error } = useSchedule(schedule_id)
  if (error instanceof ClientError && error.status === 404)
    return (
      <>
        <ShortId id={schedule_id} /> (it was deleted)
      </>
    )
  return (
    <Link to="/schedules/$schedule_id" params={{ schedule_id }}>
      {data?.name ?? <ShortId id={schedule_id} />}
    </Link>
  )
}
