/** Shows a user by name if the session may know it. Users may know their own name, and admins every name. */
import { useQuery } from '@tanstack/react-query'
import { api, useMay, useMe } from '../api.ts'
import { ShortId } from './show.tsx'

const MOST_USERS = 200

export function UserName({ user_id }: { user_id: string }) {
  const me = useMe().data
  const admin = useMay('admin')
  const users = useQuery({
    queryKey: ['users', 'names'],
    queryFn: () => api().users.list({ limit: MOST_USERS }),
    enabled: admin,
    staleTime: 60_000,
  })
  const known = [...(users.data?.items ?? []), ...(me ? [me] : [])]
  const name = known.find((user) => user.user_id === user_id)?.username
  if (name) return <span title={user_id}>{name}</span>
  const [, service] = /^service:(.+)$/.exec(user_id) ?? []
  if (service !== undefined) return <>{service} (service account)</>
  return user_id.length > 30 ? <ShortId id={user_id} /> : <>{user_id}</>
}
