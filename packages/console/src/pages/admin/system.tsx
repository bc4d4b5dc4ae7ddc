/** The operator's pages: nodes and queue, connections, tokens, users, readers, workspaces, what leaves, the audit trail, event types, settings. */
import { Link, Outlet } from '@tanstack/react-router'
import { ForAdmins } from '../../parts/for-admins.tsx'
import { Page } from '../../parts/page.tsx'
import { useShownPart } from '../../parts/shown-part.ts'
import { below } from '../address.ts'

const PARTS = [
  ['/system', 'Nodes and queue'],
  ['/system/connections', 'Connections'],
  ['/system/tokens', 'Tokens'],
  ['/system/users', 'Users'],
  ['/system/readers', 'Readers'],
  ['/system/workspaces', 'Workspaces'],
  ['/system/outgoing', 'Outgoing'],
  ['/system/audit', 'Audit trail'],
  ['/system/events', 'Event types'],
  ['/system/settings', 'Settings'],
] as const

export function SystemPage() {
  const parts = useShownPart(PARTS.length)
  return (
    <Page title="System" wide actions={<a href={below('/docs')}>API reference</a>}>
      <nav className="tabs" aria-label="Parts of the system" ref={parts}>
        {PARTS.map(([to, name]) => (
          <Link key={to} to={to} activeOptions={{ exact: true }}>
            {name}
          </Link>
        ))}
      </nav>
      <ForAdmins>
        <Outlet />
      </ForAdmins>
    </Page>
  )
}
