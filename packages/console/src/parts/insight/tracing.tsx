/** Shows where a number of the text comes from: click it, or enter it into the field by keyboard. */
import type { MouseEvent } from 'react'
import type { Insight } from '../../insights.ts'
import { MOST_PLACES, type Place, traceNumber } from '../../trace.ts'
import { TextField } from '../field.tsx'
import { BlockLink } from './block-link.tsx'

/** The number that was clicked; null for anything else. */
export function clickedNumber({ target }: MouseEvent): string | null {
  return target instanceof HTMLElement && target.className === 'number' ? target.textContent : null
}

function PlaceItem({ insight, place }: { insight: Insight; place: Place }) {
  const { block, kind, where, value } = place
  return (
    <li>
      <code>{value}</code> {where !== '' && `is ${where}`}{' '}
      {kind === 'fact' ? (
        <>
          is the fact <code>{block}</code>
        </>
      ) : kind === 'source' ? (
        <>
          of the source <code>{block}</code>
        </>
      ) : (
        <>
          in <code>{block}</code>: <BlockLink insight_id={insight.insight_id} block={block} />
        </>
      )}
    </li>
  )
}

interface TraceProps {
  insight: Insight
  number: string
  onChange(number: string): void
}

function Places({ insight, number }: Omit<TraceProps, 'onChange'>) {
  const places = number.trim() === '' ? null : traceNumber(number, insight)
  if (places === null) return number.trim() === '' ? null : <p>This is not a number of the text.</p>
  if (places.length === 0)
    return <p>No single cell holds this number: the text computes it from several. Open the blocks below.</p>
  return (
    <>
      <p>
        {places.length === 1
          ? 'One place holds this number:'
          : 'Places that hold this number, the likeliest first:'}
      </p>
      <ul>
        {places.map((place) => (
          <PlaceItem key={`${place.kind}${place.block}${place.where}`} insight={insight} place={place} />
        ))}
      </ul>
      {places.length === MOST_PLACES && <p className="small">There may be more.</p>}
    </>
  )
}

export function Trace({ insight, number, onChange }: TraceProps) {
  return (
    <div className="trace">
      <TextField
        label="Where does a number come from?"
        hint="Click a number in the text, or type it as the text shows it."
        placeholder="22.3%"
        value={number}
        onChange={({ target }) => onChange(target.value)}
      />
      <div role="status">
        <Places insight={insight} number={number} />
      </div>
    </div>
  )
}
