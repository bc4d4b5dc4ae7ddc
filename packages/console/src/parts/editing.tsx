/**
 * Shows an object, or the form that changes it, and a one-line form that creates one. The form shows an error that no
 * field shows.
 */
import { type FormEvent, type ReactNode, useState } from 'react'
import { Fault } from './fault.tsx'
import { useFaultFocus } from './field.tsx'

interface EditableOptions {
  editable: boolean
  /** Renders the form; `onDone` returns to the view. */
  form(onDone: () => void): ReactNode
  /** The view. */
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

/** The state of a mutation. */
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
  /** True if a field shows the error. */
  shown: boolean
  onSubmit(): void
  onDone(): void
  /** The fields. */
  children: ReactNode
}

export function ChangeForm({ save, shown, onSubmit, onDone, children }: ChangeFormOptions) {
  return (
    <form className="run-form" ref={useFaultFocus(save.error)} onSubmit={submitting(onSubmit)} noValidate>
      {children}
      {save.isError && !shown && <Fault error={save.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={save.isPending}>
          Save
        </button>
        <button type="button" className="button quiet" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  )
}

interface NewFormOptions {
  create: Asked
  /** True if a field shows the error. */
  shown: boolean
  /** The label of the button. */
  action: string
  onSubmit(): void
  /** The fields. */
  children: ReactNode
}

export function NewForm({ create, shown, action, onSubmit, children }: NewFormOptions) {
  return (
    <>
      <form className="row-form" ref={useFaultFocus(create.error)} onSubmit={submitting(onSubmit)} noValidate>
        {children}
        <button type="submit" className="button primary" disabled={create.isPending}>
          {action}
        </button>
      </form>
      {create.isError && !shown && <Fault error={create.error} />}
    </>
  )
}
