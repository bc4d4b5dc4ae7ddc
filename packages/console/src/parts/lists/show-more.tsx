/** Shows below a long table how many of its rows are shown, and a button for more. */
import type { ReactNode } from 'react'

/** The rows that are shown at first. The button shows four times as many. */
export const PORTION = 50

interface ShowMoreProps {
  /** The most rows that are shown. */
  most: number
  /** The number of rows that can be shown. */
  rows: number
  /** The number of all rows, if some were not kept. */
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
