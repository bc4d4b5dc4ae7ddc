/**
 * How something is made or changed: what is shown until somebody changes it, then the form for that, and shown again; and
 * the form of one line by which a new one is made. Where no field shows what was wrong the form does.
 */
import { type FormEvent, type ReactNode, useState } from 'react'
import { Fault } from './fault.tsx'

interface EditableOptions {
  editable: boolean
  /** The form; `onDone` shows it again. */
  form(onDone: () => void): ReactNode
  /** What is shown. */
  children: ReactNode
}

export function Editable({ editable, form, children }: EditableOptions) {
  const [editing, setEditing] = useState(false)
  if (editing) return form(() => setEditing(false))
  return (
    <>
      {children}
      {editable && (
        <button type="button" className="button" onClick={() => setEditing(true)}>
          Change
        </button>
      )}
    </>
  )
}

/** A mutation. */
interface Asked {
  isPending: boolean
  isError: boolean
  error: unknown
}

const submitting =
  (submit: () => void) =>
  (event: FormEvent): void => {
    event.preventDefault()
    submit()
  }

interface ChangeFormOptions {
  save: Asked
  /** Whether one of the fields shows what was wrong. */
  shown: boolean
  onSubmit(): void
  onDone(): void
  /** Fields. */
  children: ReactNode
}

export function ChangeForm({ save, shown, onSubmit, onDone, children }: ChangeFormOptions) {
  return (
    <form className="run-form" onSubmit={submitting(onSubmit)} noValidate>
      {children}
      {save.isError && !shown && <Fault error={save.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={save.isPending}>
          Save
        </button>
        <button type="button" className="button quiet" onClick={onDone}>
          Leave it
        </button>
      </div>
    </form>
  )
}

interface NewFormOptions {
  create: Asked
  /** Whether one of the fields shows what was wrong. */
  shown: boolean
  /** On the button. */
  action: string
  onSubmit(): void
  /** Fields. */
  children: ReactNode
}

export function NewForm({ create, shown, action, onSubmit, children }: NewFormOptions) {
  return (
    <>
      <form className="row-form" onSubmit={submitting(onSubmit)} noValidate>
        {children}
        <button type="submit" className="button primary" disabled={create.isPending}>
          {action}
        </button>
      </form>
      {create.isError && !shown && <Fault error={create.error} />}
    </>
  )
}
