/** A button for an action that cannot be undone. It asks first, and shows a refusal beside the question. */
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Confirm } from './dialog.tsx'

const LOOKS = { plain: 'button', quiet: 'button quiet', small: 'button quiet small' } as const

interface AskFirstProps {
  label: string
  /** The object of the button, if several buttons on a page have the same label. */
  of?: string
  /** The look; plain by default. Small buttons stand in the rows of tables. */
  look?: keyof typeof LOOKS
  title: string
  description: ReactNode
  /** The part below the description. */
  note?: ReactNode
  action: string
  /** Called before the question is shown, so that fields of its note begin anew. */
  onAsk?(): void
  act(): Promise<unknown>
  onDone(): unknown
}

export function AskFirst(props: AskFirstProps) {
  const { label, of, look = 'plain', title, description, note, action, onAsk, act, onDone } = props
  const [asking, setAsking] = useState(false)
  const doing = useMutation({
    mutationFn: act,
    onSuccess: async () => {
      setAsking(false)
      await onDone()
    },
  })
  return (
    <>
      <button
        type="button"
        className={LOOKS[look]}
        aria-label={of === undefined ? undefined : `${label} ${of}`}
        onClick={() => {
          onAsk?.()
          doing.reset()
          setAsking(true)
        }}
      >
        {label}
      </button>
      <Confirm
        title={title}
        description={description}
        action={action}
        open={asking}
        request={doing}
        onClose={() => setAsking(false)}
        onConfirm={() => doing.mutate()}
      >
        {note}
      </Confirm>
    </>
  )
}
