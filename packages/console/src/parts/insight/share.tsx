/**
 * Shows the links of an insight or a collection for readers without a token: create, copy once, count of openings,
 * revoke.
 */

import type { NewLink } from '@assay/client'
import type { CollectionLink, Link } from '@assay/model/link'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link as To } from '@tanstack/react-router'
import { useState } from 'react'
import { api, faultsOf, useMay } from '../../api.ts'
import { LINK_LIFETIMES } from '../../names.ts'
import { AskFirst } from '../ask-first.tsx'
import { Dialog } from '../dialog.tsx'
import { NewForm } from '../editing.tsx'
import { CheckField, SelectField, TextField } from '../field.tsx'
import { ListTable } from '../lists/list-table.tsx'
import { Paged, usePaged } from '../lists/paged.tsx'
import { Empty } from '../page.tsx'
import { Secret, Time } from '../show.tsx'
import { Code } from '../text/code.tsx'
import { Curl } from '../text/curl.tsx'
import { UserName } from '../user-name.tsx'

const WEEK_SECONDS = 7 * 86_400
const REFRESH_MS = 5_000

/** The shared object. */
export interface Shared {
  noun: 'insight' | 'collection'
  id: string
}

const keyOf = ({ noun, id }: Shared) => ['links', noun, id]

interface LinkCalls {
  create(input: {
    expires_in: number
    label?: string
    newest: boolean
    rows: boolean
  }): Promise<Pick<NewLink, 'url'>>
  list(page: { cursor?: string }): Promise<{ items: (Link | CollectionLink)[]; next_cursor: string | null }>
  revoke(link_id: string): Promise<unknown>
}

function callsOf({ noun, id }: Shared): LinkCalls {
  const { links } = api()
  if (noun === 'insight')
    return {
      create: (input) => links.create(id, input),
      list: (page) => links.list(id, page),
      revoke: (link_id) => links.delete(id, link_id),
    }
  return {
    create: ({ newest: _newest, rows: _rows, ...input }) => links.createOfCollection(id, input),
    list: (page) => links.listOfCollection(id, page),
    revoke: (link_id) => links.deleteOfCollection(id, link_id),
  }
}

/**
 * Returns the whole address of a link. If the service has no public address, it is that by which this browser reached
 * it.
 */
const wholeAddress = ({ url }: Pick<NewLink, 'url'>): string => new URL(url, location.origin).href

/** Shows the HTML by which another site shows the page. */
function Frame({ address }: { address: string }) {
  const element = `<script src="${new URL('embed.js', new URL('..', address)).href}"></script>\n<assay-insight src="${address}"></assay-insight>`
  return (
    <details>
      <summary>Show it in another site</summary>
      <p className="small">The operator names the sites that may, by ASSAY_FRAME_PARENTS.</p>
      <Code text={element} />
    </details>
  )
}

function NewLinkForm({ of }: { of: Shared }) {
  const cache = useQueryClient()
  const [lifetime, setLifetime] = useState(String(WEEK_SECONDS))
  const [label, setLabel] = useState('')
  const [newest, setNewest] = useState(false)
  const [rows, setRows] = useState(false)
  const create = useMutation({
    mutationFn: () =>
      callsOf(of).create({
        expires_in: Number(lifetime),
        ...(label.trim() === '' ? {} : { label: label.trim() }),
        newest,
        rows,
      }),
    onSuccess: async () => {
      setLabel('')
      await cache.invalidateQueries({ queryKey: keyOf(of) })
    },
  })
  const faults = faultsOf(create.error)
  return (
    <>
      <NewForm
        create={create}
        shown={Object.keys(faults).length > 0}
        action="Make a link"
        onSubmit={() => create.mutate()}
      >
        <SelectField
          label="Valid for"
          options={LINK_LIFETIMES}
          value={lifetime}
          fault={faults.expires_in}
          onChange={({ target }) => setLifetime(target.value)}
        />
        <TextField
          label="Note"
          placeholder="for the board"
          value={label}
          fault={faults.label}
          onChange={({ target }) => setLabel(target.value)}
        />
        {of.noun === 'insight' && (
          <>
            <CheckField
              label="Always the newest run"
              hint="Of this report with the same variables but the period."
              checked={newest}
              onChange={({ target }) => setNewest(target.checked)}
            />
            <CheckField
              label="With the rows behind the numbers"
              hint="Readers see the tables from which the text and its charts come, and a number leads to its row."
              checked={rows}
              onChange={({ target }) => setRows(target.checked)}
            />
          </>
        )}
      </NewForm>
      {create.data && <Secret label="The link" value={wholeAddress(create.data)} />}
      {create.data && <Frame address={wholeAddress(create.data)} />}
    </>
  )
}

/** The label that a message of a subscription gives to the link in it. */
const OF_A_MESSAGE = /^([a-z]+) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Shows the note of a link; of one in a message the way to the subscription. */
function Note({ label }: { label: string | null }) {
  const [, kind, subscription_id] = OF_A_MESSAGE.exec(label ?? '') ?? []
  if (subscription_id === undefined) return <>{label ?? 'without a note'}</>
  return (
    <To to="/subscriptions/$subscription_id" params={{ subscription_id }}>
      {kind === 'email' ? 'sent by mail' : 'sent to a chat'}
    </To>
  )
}

function Row({ of, link, revocable }: { of: Shared; link: Link | CollectionLink; revocable: boolean }) {
  const { link_id, label, expires_at, opened_count, last_opened_at } = link
  const cache = useQueryClient()
  const expired = Date.parse(expires_at) <= Date.now()
  return (
    <tr>
      <td>
        <Note label={label} />
        {'newest' in link && link.newest && ' (the newest run)'}
        {'rows' in link && link.rows && ' (with rows)'}
      </td>
      <td>
        {expired ? <span className="state state-canceled">✕ expired</span> : 'ends'} <Time at={expires_at} />
      </td>
      <td>
        {opened_count === 0 ? (
          'never opened'
        ) : (
          <>
            opened {opened_count} {opened_count === 1 ? 'time' : 'times'}, last <Time at={last_opened_at} />
          </>
        )}
      </td>
      <td>
        <UserName user_id={link.user_id} />, <Time at={link.created_at} />
      </td>
      {revocable && (
        <td>
          <AskFirst
            look="small"
            label="Revoke"
            of={label ?? 'the link without a note'}
            title="Revoke this link?"
            description="The link then opens nothing and leaves the list. This cannot be undone."
            action="Revoke the link"
            act={() => callsOf(of).revoke(link_id)}
            onDone={() => cache.invalidateQueries({ queryKey: keyOf(of) })}
          />
        </td>
      )}
    </tr>
  )
}

function Links({ of }: { of: Shared }) {
  const analyst = useMay('analyst')
  const query = usePaged(keyOf(of), (cursor) => callsOf(of).list(cursor ? { cursor } : {}), REFRESH_MS)
  return (
    <Paged
      query={query}
      empty={
        <Empty title="No link opens it">
          {analyst && 'Create one above.'}
          {analyst && (
            <Curl method="POST" path={`/${of.noun}s/${of.id}/links`} body={{ expires_in: WEEK_SECONDS }} />
          )}
        </Empty>
      }
    >
      {(links) => (
        <ListTable columns={['Note', 'Ends', 'Opened', 'Made by', analyst && 'Action']}>
          {links.map((link) => (
            <Row key={link.link_id} of={of} link={link} revocable={analyst} />
          ))}
        </ListTable>
      )}
    </Paged>
  )
}

const DESCRIPTIONS: Record<Shared['noun'], string> = {
  insight:
    'Anyone with a link reads this one page, without a token, until the link expires or is revoked. Previews by chat programs count as openings, too.',
  collection:
    'Anyone with a link reads the insights that the collection holds then, without a token, until the link expires or is revoked. Insights made for one reader are left out.',
}

/** How those who may make no link pass on what they read. */
const FORWARDING: Record<Shared['noun'], string> = {
  insight:
    'Those who run reports make links for people who do not sign in. You can send the address of this page to those who do, by “Copy the address”, and the PDF to anyone, by “Download”.',
  collection:
    'Those who run reports make links for people who do not sign in. You can send the address of this page to those who do.',
}

export function Share(of: Shared) {
  const [open, setOpen] = useState(false)
  const analyst = useMay('analyst')
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Share
      </button>
      <Dialog
        wide
        title={`Share this ${of.noun}`}
        description={DESCRIPTIONS[of.noun]}
        open={open}
        onClose={() => setOpen(false)}
      >
        {analyst ? <NewLinkForm of={of} /> : <p>{FORWARDING[of.noun]}</p>}
        <Links of={of} />
        <div className="actions">
          <button type="button" className="button quiet" onClick={() => setOpen(false)}>
            Close
          </button>
        </div>
      </Dialog>
    </>
  )
}
