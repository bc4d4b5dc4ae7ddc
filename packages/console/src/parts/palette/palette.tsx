/**
 * The command palette: a field over a list, by keyboard alone. It is the combobox of the ARIA Authoring Practices with a list that
 * is always open: the focus stays in the field, and the arrow keys move the choice.
 */
import { useNavigate } from '@tanstack/react-router'
import { Dialog as Parts } from 'radix-ui'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { type Entry, useEntries } from './entries.ts'

const keyOf = ({ kind, id }: Entry): string => `${kind} ${id}`

function Option({ entry, id, chosen, onGo }: { entry: Entry; id: string; chosen: boolean; onGo(): void }) {
  const place = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (chosen) place.current?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <li ref={place} id={id} role="option" aria-selected={chosen} className="palette-entry" onClick={onGo}>
      <span className="palette-kind">{entry.kind}</span>
      <span className="palette-name">{entry.name}</span>
      <span className="palette-more">{entry.more}</span>
    </li>
  )
}

function Search({ onGo }: { onGo(entry: Entry): void }) {
  const list = useId()
  const [typed, setTyped] = useState('')
  /** The key of the chosen entry; null for the first. Entries that arrive later do not change the choice. */
  const [key, setKey] = useState<string | null>(null)
  const entries = useEntries(typed)
  const found = entries.findIndex((entry) => keyOf(entry) === key)
  const at = found < 0 ? 0 : found
  const moved: Record<string, number> = {
    ArrowDown: (at + 1) % entries.length,
    ArrowUp: (at + entries.length - 1) % entries.length,
    PageDown: Math.min(at + 8, entries.length - 1),
    PageUp: Math.max(at - 8, 0),
  }
  const press = (event: KeyboardEvent): void => {
    const entry = entries[event.key === 'Enter' ? at : (moved[event.key] ?? -1)]
    if (!entry) return
    event.preventDefault()
    if (event.key === 'Enter') onGo(entry)
    else setKey(keyOf(entry))
  }
  return (
    <>
      <input
        className="input palette-input"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `${list}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="A page, an insight, a template, a run"
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setKey(null)
        }}
        onKeyDown={press}
      />
      <ul id={list} role="listbox" aria-label="Found" className="palette-list">
        {entries.map((entry, index) => (
          <Option
            key={keyOf(entry)}
            id={`${list}-${index}`}
            entry={entry}
            chosen={index === at}
            onGo={() => onGo(entry)}
          />
        ))}
      </ul>
      <p className="palette-foot" role="status">
        {entries.length === 0 ? 'Nothing is found.' : '↑ ↓ choose, Enter opens, Escape closes'}
      </p>
    </>
  )
}

export function Palette({ open, onClose }: { open: boolean; onClose(): void }) {
  const navigate = useNavigate()
  return (
    <Parts.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Parts.Portal>
        <div className="veil" aria-hidden="true" />
        <Parts.Content className="dialog palette" aria-describedby={undefined}>
          <Parts.Title className="visually-hidden">Go to</Parts.Title>
          <Search
            onGo={({ at }) => {
              onClose()
              void navigate(at)
            }}
          />
        </Parts.Content>
      </Parts.Portal>
    </Parts.Root>
  )
}
