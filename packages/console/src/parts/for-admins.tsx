/** Shows content to admins. Other users are told whom to ask. */
import type { ReactNode } from 'react'
import { useMay, useMe } from '../api.ts'
import { Empty, Loaded } from './page.tsx'

export function ForAdmins({ children }: { children: ReactNode }) {
  const me = useMe()
  const admin = useMay('admin')
  if (admin) return children
  return (
    <Loaded query={me}>
      {() => (
        <Empty title="For admins">
          <p>Sign in with a token that has the scope admin.</p>
        </Empty>
      )}
    </Loaded>
  )
}
