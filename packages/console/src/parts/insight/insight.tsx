/** Shows an insight: contents, text with charts and tables, and its lineage. */
import { Link } from '@tanstack/react-router'
import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { unfold } from '../../answers/unfold.ts'
import { type Insight, useInsight } from '../../insights.ts'
import { Loaded } from '../page.tsx'
import { InsightText } from './insight-text.tsx'
import { LineageSection } from './lineage.tsx'
import { type Asked, askedBy, askedIn, NOTHING, rowsBehind, Trace } from './tracing.tsx'

interface Heading {
  id: string
  text: string
}

/** Returns the rendered headings, from which the contents are built. */
function useContents(insight: Insight) {
  const article = useRef<HTMLElement>(null)
  const [headings, setHeadings] = useState<Heading[]>([])
  useEffect(() => {
    const found = [...(article.current?.querySelectorAll<HTMLElement>('h2[id]') ?? [])]
    setHeadings(found.map(({ id, textContent }) => ({ id, text: textContent ?? '' })))
  }, [insight])
  return { article, headings }
}

function Contents({ headings }: { headings: Heading[] }) {
  if (headings.length < 2) return null
  return (
    <nav className="contents" aria-label="Contents">
      <p className="contents-title">Contents</p>
      <ul>
        {headings.map(({ id, text }) => (
          <li key={id}>
            <a href={`#${id}`} onClick={() => unfold(document.querySelector(`#${CSS.escape(id)}`))}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Shows the insight. `head`: shown above the text, with the title as a heading. `foot`: shown below all. */
export function InsightArticle(props: { insight: Insight; head: ReactNode; foot?: ReactNode }) {
  const { insight, head, foot } = props
  const { article, headings } = useContents(insight)
  const [asked, setAsked] = useState<Asked>(NOTHING)
  const trace = (event: MouseEvent): void => {
    const clicked = askedBy(event)
    if (clicked === null) return
    setAsked(clicked)
    const place = article.current?.querySelector('.trace') ?? null
    unfold(place)
    place?.scrollIntoView({ block: 'center' })
  }
  return (
    <div className="reader">
      <Contents headings={headings} />
      <article className="insight" ref={article} onClick={trace}>
        {head}
        <InsightText insight={insight} />
        <LineageSection insight={insight} asked={rowsBehind(insight, asked)}>
          <Trace
            insight={insight}
            asked={asked}
            onChange={(number) => setAsked(askedIn(article.current, number))}
          />
        </LineageSection>
        {foot}
      </article>
    </div>
  )
}

export function InsightReader({ insight_id, linked = false }: { insight_id: string; linked?: boolean }) {
  const query = useInsight(insight_id)
  return (
    <Loaded query={query}>
      {(insight) => (
        <InsightArticle
          insight={insight}
          head={
            <header className="insight-head">
              <h2 className="insight-title">
                {linked ? (
                  <Link to="/insights/$insight_id" params={{ insight_id }} search={{}}>
                    {insight.title}
                  </Link>
                ) : (
                  insight.title
                )}
              </h2>
            </header>
          }
        />
      )}
    </Loaded>
  )
}
