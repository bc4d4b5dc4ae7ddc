/** Shows collections of insights: one chosen in the library, and those that hold an insight. */
import type { CollectionView } from '@assay/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, faultsOf, useMay } from '../../api.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { AskFirst } from '../ask-first.tsx'
import { Dialog } from '../dialog.tsx'
import { ChangeForm, NewForm } from '../editing.tsx'
import { Fault } from '../fault.tsx'
import { CheckField, TextField } from '../field.tsx'
import { Share } from '../insight/share.tsx'
import { FollowCollection } from '../receivers/follow.tsx'
import { COLLECTIONS_KEY as KEY, useCollections } from './pins.tsx'

const MOST = 200

function ChangeCollection({ collection, onDone }: { collection: CollectionView; onDone(): void }) {
  const cache = useQueryClient()
  const opened = useOpened(collection)
  const [name, setName] = useState(collection.name)
  const [description, setDescription] = useState(collection.description ?? '')
  const save = useMutation({
    mutationFn: () =>
      api().collections.update(
        collection.collection_id,
        { name: name.trim(), description: description.trim() || null },
        opened,
      ),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: KEY })
      onDone()
    },
  })
  const faults = faultsOf(save.error)
  return (
    <ChangeForm
      save={save}
      shown={Object.keys(faults).length > 0}
      onSubmit={() => save.mutate()}
      onDone={onDone}
    >
      <TextField
        label="Name"
        value={name}
        fault={faults.name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        label="What it is for"
        value={description}
        fault={faults.description}
        onChange={({ target }) => setDescription(target.value)}
      />
    </ChangeForm>
  )
}

/** Shows the head above the insights of a collection: its purpose, and its actions. */
export function CollectionHead({ collection_id }: { collection_id: string }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const analyst = useMay('analyst')
  const [changing, setChanging] = useState(false)
  const collection = useQuery({
    queryKey: [...KEY, collection_id],
    queryFn: () => api().collections.get(collection_id),
  }).data
  if (!collection) return null
  if (changing) return <ChangeCollection collection={collection} onDone={() => setChanging(false)} />
  const { name, description } = collection
  return (
    <section className="collection-head" aria-label={name}>
      <h2>{name}</h2>
      {description !== null && <p>{description}</p>}
      <div className="actions">
        <FollowCollection collection_id={collection_id} name={name} />
        <Share noun="collection" id={collection_id} />
        {analyst && (
          <>
            <button type="button" className="button" onClick={() => setChanging(true)}>
              Change
            </button>
            <AskFirst
              label="Delete"
              title={`Delete ${name}?`}
              description="Its insights stay. Subscriptions that follow it get nothing by it. This cannot be undone."
              action="Delete the collection"
              act={() => api().collections.delete(collection_id)}
              onDone={async () => {
                await cache.invalidateQueries({ queryKey: KEY })
                await navigate({ to: '/insights', search: {} })
              }}
            />
          </>
        )}
      </div>
    </section>
  )
}

function useHolding(insight_id: string) {
  return useQuery({
    queryKey: [...KEY, 'holding', insight_id],
    queryFn: () => api().collections.list({ insight_id, limit: MOST }),
  }).data?.items
}

function Choices({ insight_id, newest }: { insight_id: string; newest: boolean }) {
  const cache = useQueryClient()
  const all = useCollections()
  const holding = useHolding(insight_id)
  const change = useMutation({
    mutationFn: ({ collection_id, wanted }: { collection_id: string; wanted: boolean }) =>
      wanted
        ? api().collections.add(collection_id, insight_id, { newest })
        : api().collections.remove(collection_id, insight_id),
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: KEY }),
        cache.invalidateQueries({ queryKey: ['insights'] }),
      ]),
  })
  if (!all || !holding) return <p className="waiting">Loading…</p>
  const held = new Set(holding.map(({ collection_id }) => collection_id))
  return (
    <>
      {all.length === 0 && <p>There is no collection yet. Make the first one below.</p>}
      <div className="collection-choices">
        {all.map(({ collection_id, name }) => (
          <CheckField
            key={collection_id}
            label={name}
            checked={held.has(collection_id)}
            disabled={change.isPending}
            onChange={({ target }) => change.mutate({ collection_id, wanted: target.checked })}
          />
        ))}
      </div>
      {change.isError && <Fault error={change.error} />}
    </>
  )
}

/** Makes a collection that holds the insight. */
function NewCollection({ insight_id, newest }: { insight_id: string; newest: boolean }) {
  const cache = useQueryClient()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: async () => {
      const { collection_id } = await api().collections.create({ name: name.trim() })
      await api().collections.add(collection_id, insight_id, { newest })
    },
    onSuccess: async () => {
      setName('')
      await cache.invalidateQueries({ queryKey: KEY })
    },
  })
  const faults = faultsOf(create.error)
  return (
    <NewForm
      create={create}
      shown={Object.keys(faults).length > 0}
      action="Make it"
      onSubmit={() => create.mutate()}
    >
      <TextField
        label="New collection"
        placeholder="For the board"
        value={name}
        fault={faults.name}
        onChange={({ target }) => setName(target.value)}
      />
    </NewForm>
  )
}

export function CollectionsDialog(props: { insight_id: string; open: boolean; onClose(): void }) {
  const { insight_id, open, onClose } = props
  const [newest, setNewest] = useState(false)
  return (
    <Dialog
      title="Put it into collections"
      description="Everyone in the workspace sees a collection."
      open={open}
      onClose={onClose}
    >
      <CheckField
        label="Always the newest run"
        hint="Of this report with the same variables but the period."
        checked={newest}
        onChange={({ target }) => setNewest(target.checked)}
      />
      <Choices insight_id={insight_id} newest={newest} />
      <NewCollection insight_id={insight_id} newest={newest} />
      <div className="actions">
        <button type="button" className="button quiet" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
