/** Shows one insight in the library: its finding, its figure with the change, and its author. */
import type { InsightCard } from '@assay/client'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { GRADE_WORDS } from '../../names.ts'
import { figureText, movedOf } from '../../words/change.ts'
import { Time } from '../show.tsx'
import { UserName } from '../user-name.tsx'
import { Sparkline } from './sparkline.tsx'

function FigureTile({ card }: { card: InsightCard }) {
  const { figure } = card
  if (!figure) return null
  const moved = movedOf(card)
  return (
    <div className="figure">
      <p className="figure-value">{figureText(figure)}</p>
      <p className="figure-label">{figure.label}</p>
      <Sparkline card={card} />
      {moved && (
        <p className="figure-moved">
          {moved.words} <span className="figure-since">since {moved.since}</span>
        </p>
      )}
    </div>
  )
}

/** Shows the row. `pin`: the button that keeps the insight at the top. */
export function CardRow({ card, pin }: { card: InsightCard; pin?: ReactNode }) {
  const { insight_id, template_id, grade, schedule_id, failed_tests } = card
  return (
    <li className="found">
      <div className="found-text">
        <h2>
          <Link to="/insights/$insight_id" params={{ insight_id }} search={{}}>
            {card.title}
          </Link>
        </h2>
        {card.headline !== null && <p className="found-headline">{card.headline}</p>}
        <p className="found-foot">
          {pin}
          {failed_tests?.some(({ late }) => late) && <span className="grade withheld">Late data</span>}
          {grade !== null && <span className={`grade ${grade}`}>{GRADE_WORDS[grade]}</span>}
          <Time at={card.created_at} />
          <span>
            by <UserName user_id={card.user_id} />
            {schedule_id !== null && ', on a schedule'}
          </span>
          <Link to="/insights" search={{ template: template_id }} aria-label={`All runs like ${card.title}`}>
            all runs
          </Link>
        </p>
      </div>
      <FigureTile card={card} />
    </li>
  )
}
