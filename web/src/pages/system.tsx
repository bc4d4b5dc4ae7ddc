/** The operator's part: nodes and queue, tokens, users, event types, settings. */
import { Link, Outlet } from '@tanstack/react-router'
import { useMay, useMe } from '../api.ts'
import { Empty, Page } from '../parts/page.tsx'

const PARTS = [
  ['/system', 'Nodes and queue'],
  ['/system/tokens', 'Tokens'],
  ['/system/users', 'Users'],
  ['/system/events', 'Event types'],
  ['/system/settings', 'Settings'],
] as const

export function SystemPage() {
  const me = useMe()
  const admin = useMay('admin')
  return (
    <Page title="System" wide actions={<a href="/docs">API reference</a>}>
      <nav className="tabs" aria-label="Parts of the system">
        {PARTS.map(([to, name]) => (
          <Link key={to} to={to} activeOptions={{ exact: true }}>
            {name}
          </Link>
        ))}
      </nav>
      {me.data && !admin ? (
        <Empty title="For admins">
          <p>Sign in with a token that has the scope admin.</p>
        </Empty>
      ) : (
        <Outlet />
      )}
    </Page>
  )
}
