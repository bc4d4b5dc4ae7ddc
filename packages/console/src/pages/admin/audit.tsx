/**
 * The page of the audit trail, newest first: who did what to which object, when and from where. The filters are in the
 * address.
 */

import type { AuditAction, AuditRecord } from '@assay/model/audit'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { ACTION_WORDS, ACTIONS, fieldWords } from '../../audit.ts'
import { SelectField, TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { WordFilter } from '../../parts/lists/word-filter.tsx'
import { Empty } from '../../parts/page.tsx'
import { ShortId, Time } from '../../parts/show.tsx'
import { Curl } from '../../parts/text/curl.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { localMoment } from '../../words/durations.ts'

const PAGE = 50

type Name = 'action' | 'user' | 'object' | 'after' | 'before'

function useFilters() {
  const search = useSearch({ from: '/shell/system/audit' })
  const navigate = useNavigate({ from: '/system/audit' })
  const set = (name: Name, value: string): void => {
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  }
  return { search, set }
}

function Filters() {
  const { search, set } = useFilters()
  return (
    <div className="filters" role="search">
      <SelectField
        label="What"
        value={search.action ?? ''}
        onChange={({ target }) => set('action', target.value)}
        options={[
          { value: '', label: 'Anything' },
          ...ACTIONS.map((action) => ({ value: action, label: ACTION_WORDS[action] })),
        ]}
      />
      <WordFilter
        label="Who"
        placeholder="the id of a user"
        value={search.user}
        onChange={(user) => set('user', user)}
      />
      <WordFilter
        label="To what"
        placeholder="the id of a job, a template, …"
        value={search.object}
        onChange={(object) => set('object', object)}
      />
      <TextField
        label="From"
        type="datetime-local"
        value={search.after ?? ''}
        onChange={({ target }) => set('after', target.value)}
      />
      <TextField
        label="Before"
        type="datetime-local"
        value={search.before ?? ''}
        onChange={({ target }) => set('before', target.value)}
      />
    </div>
  )
}

/** Returns the page of a record's object; null if it has none or was deleted. */
function placeOf(action: AuditAction, id: string) {
  const [noun, deed] = action.split('.')
  if (deed === 'delete') return null
  switch (noun) {
    case 'job':
      return deed === 'create_many'
        ? ({ to: '/jobs', search: { batch: id } } as const)
        : ({ to: '/jobs/$assignment_id', params: { assignment_id: id } } as const)
    case 'result':
      return { to: '/insights/$insight_id', params: { insight_id: id } } as const
    case 'template':
      return { to: '/templates/$template_id', params: { template_id: id } } as const
    case 'schedule':
      return { to: '/schedules/$schedule_id', params: { schedule_id: id } } as const
    case 'connection':
      return { to: '/system/connections/$name', params: { name: id } } as const
    case 'webhook':
      return { to: '/webhooks/$webhook_id', params: { webhook_id: id } } as const
    case 'subscription':
      return { to: '/subscriptions/$subscription_id', params: { subscription_id: id } } as const
    case 'file':
      return { to: '/files', search: { in: id.split('/').slice(0, -1).join('/') || undefined } } as const
    case 'outgoing':
      return { to: '/system/outgoing' } as const
    case 'token':
      return { to: '/system/tokens' } as const
    case 'user':
      return { to: '/system/users' } as const
    default:
      return null
  }
}

const LONGEST_NAME = 30

function Thing({ record: { action, object_id } }: { record: AuditRecord }) {
  if (object_id === null) return <>–</>
  const name = object_id.length > LONGEST_NAME ? <ShortId id={object_id} /> : <code>{object_id}</code>
  const place = placeOf(action, object_id)
  return place === null ? name : <Link {...place}>{name}</Link>
}

function Row({ record }: { record: AuditRecord }) {
  const { created_at, action, user_id, token_id, object_id, fields, address, request_id } = record
  const only = (search: { user?: string; object?: string }, words: string, name: string) => (
    <Link to="/system/audit" search={search} aria-label={`${words}: ${name}`}>
      {words}
    </Link>
  )
  return (
    <tr>
      <td>
        <Time at={created_at} exact />
      </td>
      <td data-label="Who">
        {user_id === null ? 'an unknown user' : <UserName user_id={user_id} />}
        <div className="small">
          {user_id !== null && only({ user: user_id }, 'their records', user_id)}
          {token_id !== null && (
            <>
              {' '}
              token <ShortId id={token_id} />
            </>
          )}
        </div>
      </td>
      <td data-label="What">
        {ACTION_WORDS[action]}
        {fields.length > 0 && <div className="small">{fieldWords(fields)}</div>}
      </td>
      <td data-label="To what">
        <Thing record={record} />
        {object_id !== null && (
          <div className="small">{only({ object: object_id }, 'its records', object_id)}</div>
        )}
      </td>
      <td data-label="From where">
        {address ?? '–'}
        {request_id !== null && (
          <div className="small">
            request <ShortId id={request_id} />
          </div>
        )}
      </td>
    </tr>
  )
}

export function AuditPage() {
  const { search } = useFilters()
  const { action, user, object, after, before } = search
  const filter = {
    action,
    user_id: user,
    object_id: object,
    created_after: localMoment(after),
    created_before: localMoment(before),
  }
  const query = usePaged(['audit', filter], (cursor) => api().audit({ ...filter, cursor, limit: PAGE }))
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  const asked = new URLSearchParams(given).toString()
  return (
    <section>
      <h2>Audit trail</h2>
      <p className="small">
        Every change, and every reading of a result. Actions of the service itself are not recorded.
      </p>
      <Filters />
      <Paged
        query={query}
        empty={
          <Empty title="No record fits these filters">
            <p>
              <Link to="/system/audit" search={{}}>
                Remove the filters
              </Link>
              . ASSAY_KEEP_AUDIT says how long records are kept.
            </p>
            <Curl path={asked === '' ? '/audit' : `/audit?${asked}`} />
          </Empty>
        }
      >
        {(records) => (
          <ListTable columns={['When', 'Who', 'What', 'To what', 'From where']}>
            {records.map((record) => (
              <Row key={record.audit_id} record={record} />
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  )
}
