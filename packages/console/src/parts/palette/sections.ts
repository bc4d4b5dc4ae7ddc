/** Lists the sections of the console, in the order of the work, and who is shown each. */
import type { Scope } from '@assay/model/token'
import type { LinkProps } from '@tanstack/react-router'
import { useIsLimited, useMay } from '../../api.ts'

export interface Section {
  to: LinkProps['to']
  name: string
  takes: Scope
}

/**
 * The sections: the insights first, then in the order of the work jobs, their data, their receivers and the system.
 * Viewers are shown only the sections that they read; the other addresses still work.
 */
const SECTIONS: readonly Section[] = [
  { to: '/insights', name: 'Insights', takes: 'viewer' },
  { to: '/templates', name: 'Templates', takes: 'viewer' },
  { to: '/metric', name: 'Metrics', takes: 'viewer' },
  { to: '/jobs', name: 'Jobs', takes: 'analyst' },
  { to: '/schedules', name: 'Schedules', takes: 'viewer' },
  { to: '/files', name: 'Files', takes: 'analyst' },
  { to: '/webhooks', name: 'Webhooks', takes: 'analyst' },
  { to: '/subscriptions', name: 'Subscriptions', takes: 'viewer' },
  { to: '/system', name: 'System', takes: 'admin' },
]

/** The pages below the sections. */
const FURTHER: readonly Section[] = [
  { to: '/health', name: 'Health', takes: 'analyst' },
  { to: '/templates/new', name: 'New template', takes: 'analyst' },
  { to: '/metric/new', name: 'New metric', takes: 'admin' },
  { to: '/schedules/new', name: 'New schedule', takes: 'analyst' },
  { to: '/subscriptions/new', name: 'New subscription', takes: 'analyst' },
  { to: '/webhooks/new', name: 'New webhook', takes: 'analyst' },
  { to: '/account', name: 'Your account', takes: 'viewer' },
  { to: '/system/connections', name: 'Connections', takes: 'admin' },
  { to: '/system/readers', name: 'Readers', takes: 'admin' },
  { to: '/system/tokens', name: 'Tokens', takes: 'admin' },
  { to: '/system/users', name: 'Users', takes: 'admin' },
  { to: '/system/workspaces', name: 'Workspaces', takes: 'admin' },
  { to: '/system/outgoing', name: 'Outgoing', takes: 'admin' },
  { to: '/system/audit', name: 'Audit trail', takes: 'admin' },
  { to: '/system/events', name: 'Event types', takes: 'admin' },
  { to: '/system/settings', name: 'Settings', takes: 'admin' },
]

/** The addresses that a token that is limited to templates may see. */
const OF_TEMPLATES: readonly LinkProps['to'][] = ['/insights', '/templates', '/jobs', '/account']

function useShown(sections: readonly Section[]): readonly Section[] {
  const may: Record<Scope, boolean> = {
    viewer: true,
    analyst: useMay('analyst'),
    publisher: useMay('publisher'),
    admin: useMay('admin'),
  }
  const limited = useIsLimited()
  return sections.filter(({ to, takes }) => may[takes] && (!limited || OF_TEMPLATES.includes(to)))
}

export const useSections = (): readonly Section[] => useShown(SECTIONS)
export const usePages = (): readonly Section[] => useShown([...SECTIONS, ...FURTHER])
