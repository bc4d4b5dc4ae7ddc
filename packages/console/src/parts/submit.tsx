/** Submits a form that needs the scope `analyst`. With a narrower token the button is disabled, and a line says why. */
import type { ReactNode } from 'react'
import { useMay } from '../api.ts'

interface SubmitProps {
  pending: boolean
  /** The part beside the button. */
  beside?: ReactNode
  /** The label of the button. */
  children: ReactNode
}

export function Submit({ pending, beside, children }: SubmitProps) {
  const analyst = useMay('analyst')
  return (
    <div className="actions">
      <button type="submit" className="button primary" disabled={pending || !analyst}>
        {children}
      </button>
      {beside}
      {!analyst && <span className="small">This needs a token with the scope analyst.</span>}
    </div>
  )
}
