/** What a draft asks and takes for granted: each question with one link for each reading, which drafts again. */
import type { DraftView } from '@assay/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../api.ts'
import { Fault } from './fault.tsx'

type Question = DraftView['questions'][number]
type Metrics = DraftView['metrics']

/** What is drafted: a file with the lines that say how it is read, one below the other, or a table of a database. */
export type DraftOf = { file: string; lines: string } | { connection: string; table: string }

/** What the service is asked for. */
export function askedOf(of: DraftOf) {
  return 'file' in of ? { file: of.file, dialect: of.lines.split('\n').filter(Boolean) } : of
}

function Asked({ of, question }: { of: DraftOf; question: Question }) {
  const { column, says, readings } = question
  return (
    <li>
      <p>
        <strong>{column}</strong>: {says}
      </p>
      {'file' in of && (
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
      )}
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

/** Puts those that are not there yet: what somebody has written stays. */
async function putNew(metrics: Metrics): Promise<string[]> {
  const put: string[] = []
  for (const { metric_id, source } of metrics) {
    const { items } = await api().metrics.list({ q: metric_id, limit: 200 })
    if (items.some((one) => one.metric_id === metric_id)) continue
    await api().metrics.put(metric_id, source)
    put.push(metric_id)
  }
  return put
}

/** The metrics that the template of a table reads: they must be there before it runs. */
export function DraftMetrics({ metrics }: { metrics: Metrics }) {
  const cache = useQueryClient()
  const put = useMutation({
    mutationFn: () => putNew(metrics),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ['check'] })
      await cache.invalidateQueries({ queryKey: ['metrics'] })
    },
  })
  if (metrics.length === 0) return null
  const names = metrics.map(({ metric_id }) => metric_id).join(', ')
  return (
    <section className="notice" aria-label="Metrics">
      <p>The database adds up these metrics, which the template reads: {names}. Save them first.</p>
      <p>
        <button type="button" className="button" disabled={put.isPending} onClick={() => put.mutate()}>
          {put.isPending ? 'Saving…' : 'Save the metrics'}
        </button>
      </p>
      {put.isError && <Fault error={put.error} />}
      <p role="status">
        {put.data &&
          (put.data.length === 0
            ? 'They are there already, and stay as they are.'
            : `Saved: ${put.data.join(', ')}.`)}
      </p>
    </section>
  )
}
