/** What a draft asks and takes for granted: each question with one link for each reading, which drafts again. */
import type { DraftView } from '@assay/client'
import { Link } from '@tanstack/react-router'

type Question = DraftView['questions'][number]

/** The file of a draft, and the lines that say how it is read, one below the other. */
export interface DraftOf {
  file: string
  lines: string
}

function Asked({ of, question }: { of: DraftOf; question: Question }) {
  const { column, says, readings } = question
  return (
    <li>
      <p>
        <strong>{column}</strong>: {says}
      </p>
      <div className="actions">
        {readings.map(({ as, write }) => (
          <Link
            key={write}
            className="button small"
            to="/templates/new"
            search={{ file: of.file, lines: [of.lines, write].filter(Boolean).join('\n') }}
          >
            {as} ({write})
          </Link>
        ))}
      </div>
    </li>
  )
}

export function DraftNotes({ of, draft }: { of: DraftOf; draft: DraftView }) {
  const { questions, assumptions } = draft
  return (
    <>
      {questions.length > 0 && (
        <section className="notice" aria-label="Questions">
          <p>What can be read in two ways is left out until you choose:</p>
          <ul>
            {questions.map((question) => (
              <Asked key={question.column} of={of} question={question} />
            ))}
          </ul>
        </section>
      )}
      {assumptions.length > 0 && (
        <details className="facts">
          <summary>What this draft assumes</summary>
          <ul>
            {assumptions.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
