/**
 * Makes dialogs by Radix, which keeps the focus inside and returns it. The overlay is our own: Radix's adds a style
 * element to lock scrolling, which the Content-Security-Policy forbids; a rule of the style sheet does it instead.
 */
import { Dialog as Parts } from 'radix-ui'
import type { ReactNode } from 'react'
import { Fault } from './fault.tsx'

interface DialogProps {
  title: string
  description?: ReactNode
  open: boolean
  onClose(): void
  /** True for a dialog that is wide enough for a table. */
  wide?: boolean
  children: ReactNode
}

export function Dialog({ title, description, open, onClose, wide = false, children }: DialogProps) {
  return (
    <Parts.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Parts.Portal>
        <div className="veil" aria-hidden="true" />
        <Parts.Content
          className={wide ? 'dialog wide' : 'dialog'}
          {...(description ? {} : { 'aria-describedby': undefined })}
        >
          <Parts.Title className="dialog-title">{title}</Parts.Title>
          {description && <Parts.Description>{description}</Parts.Description>}
          {children}
        </Parts.Content>
      </Parts.Portal>
    </Parts.Root>
  )
}

/** Asks before an action that cannot be undone. A refused request is shown below the question. */
export function Confirm(props: {
  title: string
  description: ReactNode
  action: string
  open: boolean
  request: { isPending: boolean; isError: boolean; error: Error | null }
  onClose(): void
  onConfirm(): void
  children?: ReactNode
}) {
  return (
    <Dialog title={props.title} description={props.description} open={props.open} onClose={props.onClose}>
      {props.children}
      {props.request.isError && <Fault error={props.request.error} />}
      <div className="actions">
        <button
          type="button"
          className="button danger"
          disabled={props.request.isPending}
          onClick={props.onConfirm}
        >
          {props.action}
        </button>
        <button type="button" className="button quiet" onClick={props.onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  )
}
