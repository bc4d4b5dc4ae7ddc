/** Below a long table: how many of its rows are shown, and a button for more. */
import type { ReactNode } from 'react'

/** Rows that are shown at first; the button adds four times as many. */
export const PORTION = 50

interface ShowMoreProps {
  /** Rows that are shown at most. */
  most: number
  /** Rows that are there to show. */
  rows: number
  /** Rows in all, if some were not kept. */
  total?: number
  note?: ReactNode
  onMore(most: number): void
}

export function ShowMore({ most, rows, total = rows, note, onMore }: ShowMoreProps) {
  return (
    <figcaption>
      {Math.min(most, rows).toLocaleString('en')} of {total.toLocaleString('en')} rows{note}{' '}
      {most < rows && (
        <button type="button" className="button quiet small" onClick={() => onMore(most + 4 * PORTION)}>
          Show more
        </button>
      )}
    </figcaption>
  )
}
