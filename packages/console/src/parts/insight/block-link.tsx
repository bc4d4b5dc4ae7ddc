/** A link to the block of a table or chart: opens it and moves the focus there. */

import { unfold } from '../../answers/unfold.ts'
import { blockAnchor } from '../../insights.ts'

export function BlockLink({ insight_id, block }: { insight_id: string; block: string }) {
  const anchor = blockAnchor(insight_id, block)
  return (
    <a
      className="behind"
      href={`#${anchor}`}
      onClick={(event) => {
        const target = document.querySelector<HTMLElement>(`#${CSS.escape(anchor)}`)
        if (!target) return
        event.preventDefault()
        unfold(target)
        target.scrollIntoView({ block: 'start' })
        target.querySelector('summary')?.focus({ preventScroll: true })
      }}
    >
      SQL and rows of <code>{block}</code>
    </a>
  )
}
