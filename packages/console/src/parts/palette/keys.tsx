/** The keys of every page: Ctrl or Cmd with K opens the command palette, which is loaded then; "/" goes to the search of the page. */
import { lazy, Suspense, useEffect, useState } from 'react'

const Palette = lazy(() => import('./palette.tsx').then(({ Palette }) => ({ default: Palette })))

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable="true"]')

function goToSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
  field?.focus()
  field?.select()
  return field !== null
}

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent)

export function GoTo() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return
      const { key, ctrlKey, metaKey, target } = event
      const opens = key.toLowerCase() === 'k' && (ctrlKey || metaKey)
      const searches = key === '/' && !ctrlKey && !metaKey && !isTyping(target)
      if (opens) setOpen((shown) => !shown)
      if (opens || (searches && goToSearch())) event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <>
      <button
        type="button"
        className="button quiet go-to"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
      >
        Go to <kbd aria-hidden="true">{IS_APPLE ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {open && (
        <Suspense fallback={null}>
          <Palette open onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
