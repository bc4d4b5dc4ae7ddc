/** The frame of a page: its heading, which is also the title of the tab, and its actions. */
import { type ReactNode, useEffect } from 'react'
import { Fault } from './fault.tsx'

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Assay' : `${title} · Assay`
  }, [title])
}

interface PageProps {
  title: string
  /** Links above the heading to the parent pages. */
  trail?: ReactNode
  lead?: ReactNode
  actions?: ReactNode
  wide?: boolean
  children: ReactNode
}

export function Page({ title, trail, lead, actions, wide = false, children }: PageProps) {
  useTitle(title)
  return (
    <div className={wide ? 'page wide' : 'page'}>
      {trail && <div className="trail">{trail}</div>}
      <div className="page-head">
        <h1>{title}</h1>
        {actions && <div className="actions">{actions}</div>}
      </div>
      {lead && <div className="lead">{lead}</div>}
      {children}
    </div>
  )
}

interface Answer<Data> {
  data: Data | undefined
  error: unknown
  isPending: boolean
  refetch(): unknown
}

/** Shows the data of a query. While it loads it shows a note, and after a failure the error. */
export function Loaded<Data>({ query, children }: { query: Answer<Data>; children(data: Data): ReactNode }) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Fault error={query.error} onRetry={() => void query.refetch()} />
  return (
    <p className="waiting" role="status">
      Loading…
    </p>
  )
}

/** Shows an empty list, with the next step. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <div>{children}</div>
    </div>
  )
}
