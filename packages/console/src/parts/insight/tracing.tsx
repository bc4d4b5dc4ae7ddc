/** Shows where a number of the text comes from, after a click on it or its entry into the field. */
import type { MouseEvent } from 'react'
import type { Insight } from '../../insights.ts'
import { type Source, type Spot, type Traced, traceSpot } from '../../trace.ts'
import { TextField } from '../field.tsx'
import { BlockLink } from './block-link.tsx'
import { spotOf } from './numbers.ts'

/** A number, and the places of the text that show it. */
export interface Asked {
  number: string
  spots: Spot[]
}

export const NOTHING: Asked = { number: '', spots: [] }
const MOST_ANSWERS = 6

const shownIn = (element: HTMLElement): string => (element.textContent ?? '').trim()

/** Returns the number that was clicked; null for any other element. */
export function askedBy({ target }: MouseEvent): Asked | null {
  const clicked = target instanceof HTMLElement ? target.closest<HTMLElement>('.number') : null
  return clicked && { number: shownIn(clicked), spots: [spotOf(clicked)] }
}

/** Returns every place of the text that shows this number. */
export function askedIn(article: HTMLElement | null, number: string): Asked {
  const all = [...(article?.querySelectorAll<HTMLElement>('.number') ?? [])]
  return { number, spots: all.filter((one) => shownIn(one) === number.trim()).map(spotOf) }
}

/** Returns the row of each block from which the number comes, if it has only one place. */
export function rowsBehind(insight: Insight, { spots }: Asked): ReadonlyMap<string, number> {
  const sources = spots.length === 1 ? traceSpot(insight, spots[0]!).flatMap((one) => one.sources) : []
  return new Map(sources.flatMap(({ block, row }) => (block === null || row === null ? [] : [[block, row]])))
}

function SourceItem({ insight, source }: { insight: Insight; source: Source }) {
  const { block, where, value } = source
  return (
    <li>
      {value !== null && (
        <>
          <code>{value}</code>{' '}
        </>
      )}
      {value !== null && where !== '' && 'is '}
      {where}
      {block !== null && (
        <>
          {' '}
          in <code>{block}</code>: <BlockLink insight_id={insight.insight_id} block={block} />
        </>
      )}
    </li>
  )
}

function Answer({ insight, traced }: { insight: Insight; traced: Traced }) {
  const { says, sources, more, through, fact } = traced
  return (
    <>
      {says !== null && <p>{says}</p>}
      {sources.length > 0 && (
        <ul>
          {sources.map((source) => (
            <SourceItem key={`${source.block} ${source.where}`} insight={insight} source={source} />
          ))}
          {more > 0 && <li>{more.toLocaleString('en')} more</li>}
        </ul>
      )}
      {through.length > 0 && (
        <p className="small">
          Then{' '}
          {through.map((step, index) => (
            // The index is part of the key, because the same filter may occur twice.
            <span key={`${index}-${step}`}>
              {index > 0 && ', '}
              <code>{step}</code>
            </span>
          ))}
        </p>
      )}
      {fact !== null && (
        <p className="small">
          Recorded as the fact <code>{fact}</code>.
        </p>
      )}
    </>
  )
}

function Answers({ insight, asked }: { insight: Insight; asked: Asked }) {
  if (asked.number.trim() === '') return null
  if (asked.spots.length === 0) return <p>The text does not show this number.</p>
  const all = asked.spots.flatMap((spot) => traceSpot(insight, spot))
  const answers = [...new Map(all.map((traced) => [JSON.stringify(traced), traced]))]
  return (
    <>
      {answers.length > 1 && <p>The text shows it more than once:</p>}
      {answers.slice(0, MOST_ANSWERS).map(([key, traced]) => (
        <Answer key={key} insight={insight} traced={traced} />
      ))}
      {answers.length > MOST_ANSWERS && <p className="small">Click one in the text to see it alone.</p>}
    </>
  )
}

interface TraceProps {
  insight: Insight
  asked: Asked
  onChange(number: string): void
}

export function Trace({ insight, asked, onChange }: TraceProps) {
  return (
    <div className="trace">
      <TextField
        label="Where does a number come from?"
        hint="Click a number in the text, or type it as the text shows it."
        placeholder="22.3 %"
        value={asked.number}
        onChange={({ target }) => onChange(target.value)}
      />
      <div role="status">
        <Answers insight={insight} asked={asked} />
      </div>
    </div>
  )
}
