/**
 * Shows drafts that the service keeps. Analysts keep theirs; users who may publish find them and save them as
 * templates or metrics. It has the buttons of an editor, and the list above templates and above metrics.
 */
import type { KeptDraft } from '@assay/client'
import type { DraftKind } from '@assay/model/kept-draft'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useIsLimited, useMay } from '../../api.ts'
import { AskFirst } from '../ask-first.tsx'
import { Fault } from '../fault.tsx'
import { ListTable } from '../lists/list-table.tsx'
import { Time } from '../show.tsx'
import { UserName } from '../user-name.tsx'

const KEY = ['drafts', 'kept']
const MOST = 200

/** Returns the drafts: the own ones for users who may write, all for users who may publish. */
function useKeptDrafts(kind: DraftKind) {
  const analyst = useMay('analyst')
  const limited = useIsLimited()
  return useQuery({
    queryKey: [...KEY, kind],
    queryFn: () => api().drafts.list({ kind, limit: MOST }),
    enabled: analyst && !limited,
  }).data?.items
}

export function useKeptDraft(draft_id: string | undefined) {
  return useQuery({
    queryKey: [...KEY, 'one', draft_id],
    queryFn: () => api().drafts.get(draft_id!),
    enabled: draft_id !== undefined,
    // The text of the editor is kept if the draft changes elsewhere.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

interface SaveProps {
  kind: DraftKind
  /** The id that the text is for; empty if there is none yet. */
  name: string
  source: string
  /** Saves the text in its place, or pushes it as a branch. */
  save: { isPending: boolean; mutate(): void; label: string }
}

/** Saves for users who may publish, and keeps the text as a draft for others. */
export function SaveOrKeep({ kind, name, source, save }: SaveProps) {
  const cache = useQueryClient()
  const publisher = useMay('publisher')
  const keep = useMutation({
    mutationFn: (text: string) => api().drafts.keep(kind, name, { source: text }),
    onSuccess: () => cache.invalidateQueries({ queryKey: KEY }),
  })
  const isKept = keep.data !== undefined && keep.variables === source
  return (
    <>
      {publisher && (
        <button
          type="button"
          className="button primary"
          disabled={save.isPending || name === ''}
          onClick={() => save.mutate()}
        >
          {save.label}
        </button>
      )}
      <button
        type="button"
        className={publisher ? 'button' : 'button primary'}
        disabled={keep.isPending || name === '' || source.trim() === ''}
        onClick={() => keep.mutate(source)}
      >
        Keep as a draft
      </button>
      {keep.isError && <Fault error={keep.error} />}
      <span className="small" role="status">
        {isKept
          ? `Kept as your draft of ${name}. You find it above the ${kind}s, and so does everybody who may publish.`
          : publisher
            ? ''
            : 'Publishing takes the scope publisher. Your draft is seen by you and by those who may publish.'}
      </span>
    </>
  )
}

function Open({ draft: { kind, name, draft_id } }: { draft: KeptDraft }) {
  return kind === 'template' ? (
    <Link to="/templates/new" search={{ draft: draft_id }}>
      {name}
    </Link>
  ) : (
    <Link to="/metric/new" search={{ draft: draft_id }}>
      {name}
    </Link>
  )
}

/** Lists the kept drafts. Renders nothing if there is none. */
export function KeptDrafts({ kind }: { kind: DraftKind }) {
  const cache = useQueryClient()
  const drafts = useKeptDrafts(kind) ?? []
  if (drafts.length === 0) return null
  return (
    <section aria-label="Drafts">
      <h2>Drafts</h2>
      <ListTable columns={['Draft', 'By', 'Changed', 'Action']}>
        {drafts.map((draft) => (
          <tr key={draft.draft_id}>
            <td>
              <Open draft={draft} />
            </td>
            <td>
              <UserName user_id={draft.user_id} />
            </td>
            <td>
              <Time at={draft.updated_at} />
            </td>
            <td>
              <AskFirst
                look="small"
                label="Delete"
                of={`the draft ${draft.name}`}
                title={`Delete the draft of ${draft.name}?`}
                description="Its text is lost."
                action="Delete the draft"
                act={() => api().drafts.delete(draft.draft_id)}
                onDone={() => cache.invalidateQueries({ queryKey: KEY })}
              />
            </td>
          </tr>
        ))}
      </ListTable>
    </section>
  )
}
