/**
 * Handles the keys of every page. Ctrl or Cmd with K opens the command palette and "?" the list of keys, which are
 * loaded then; "/" goes to the search of the page; "g" and a letter go to a section.
 */
import { useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { lazyPart } from '../../pages/load-part.ts'

const Palette = lazyPart(() => import('./palette.tsx'), 'Palette')
const Shortcuts = lazyPart(() => import('./shortcuts.tsx'), 'Shortcuts')

const SECTIONS = {
  i: '/insights',
  t: '/templates',
  m: '/metric',
  j: '/jobs',
  s: '/schedules',
  h: '/health',
} as const

/** The milliseconds within which a second key counts. */
const SEQUENCE_MS = 1500

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.shadowRoot !== null || target.matches('input, textarea, select'))

/** Tells whether a dialog is open. It then handles the keys itself. */
const isOpen = (): boolean => document.querySelector('[role=dialog], [role=menu]') !== null

function goToSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
  field?.focus()
  field?.select()
  return field !== null
}

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent)

export function GoTo() {
  const [open, setOpen] = useState<'palette' | 'keys' | null>(null)
  const navigate = useNavigate()
  const begun = useRef(0)
  useEffect(() => {
    /** Handles a plain key. Tells whether the key had an effect. */
    const plain = (key: string, at: number): boolean => {
      const to = at - begun.current < SEQUENCE_MS ? SECTIONS[key as keyof typeof SECTIONS] : undefined
      begun.current = key === 'g' ? at : 0
      if (to !== undefined) void navigate({ to, search: {} })
      else if (key === '?') setOpen('keys')
      else return key === '/' && goToSearch()
      return true
    }
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return
      const { key, ctrlKey, metaKey, target, timeStamp } = event
      const held = ctrlKey || metaKey
      const opens = key.toLowerCase() === 'k' && held
      if (opens) setOpen((shown) => (shown === null ? 'palette' : null))
      const own = !held && !isTyping(target) && !isOpen()
      if (opens || (own && plain(key, timeStamp))) event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [navigate])
  const close = (): void => setOpen(null)
  return (
    <>
      <button
        type="button"
        className="button quiet go-to"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen('palette')}
      >
        Go to <kbd aria-hidden="true">{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {open && (
        <Suspense fallback={null}>
          {open === 'palette' ? <Palette open onClose={close} /> : <Shortcuts onClose={close} />}
        </Suspense>
      )}
    </>
  )
}
