/** Shows the questions and assumptions of a draft. Each question has a link for each reading, which drafts again. */
import type { DraftView } from '@assay/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { Fault } from '../fault.tsx'

type Question = DraftView['questions'][number]
type Metrics = DraftView['metrics']

/**
 * The data of a draft: a file with the lines that say how it is read, one below the other, or a table of a database.
 */
export type DraftOf = { file: string; lines: string } | { connection: string; table: string }

declare module '@tanstack/react-router' {
  interface HistoryState {
    /**
     * The lines by which the reader has just said how the file is read. They are kept with the upload. An address
     * alone keeps nothing, and lines that are not those of the address are not kept.
     */
    keep?: string
  }
}

/** Returns the request to the service. Without lines, the lines that were kept with the upload count. */
export function askedOf(of: DraftOf, keep: boolean) {
  if (!('file' in of)) return of
  const dialect = of.lines.split('\n').filter(Boolean)
  const upload = of.file.startsWith('uploads/')
  return {
    file: of.file,
    ...(dialect.length > 0 || keep ? { dialect } : {}),
    ...(keep && upload ? { keep } : {}),
  }
}

/** Drafts anew for each answer, and keeps an answer that was just given. */
export function useDraftOf(of: DraftOf) {
  const said = useLocation().state.keep
  const keep = 'file' in of && said === of.lines
  return useQuery({
    queryKey: ['draft', of, keep],
    queryFn: () => api().drafts.create(askedOf(of, keep)),
    staleTime: Number.POSITIVE_INFINITY,
    // The draft is not cached, so that lines added for the file since then count when the page is opened again.
    gcTime: 0,
  })
}

/** The page that shows the draft again once a question is answered. */
type At = '/templates/new' | '/data'

/** Returns a question without the lines that answer it in a template: buttons answer it here. */
const withoutLines = (says: string): string => says.replaceAll(/ \(write [^)]*\)/g, '')

function Asked(props: { of: DraftOf; question: Question; lines: readonly string[]; at: At }) {
  const { of, question, lines, at } = props
  const { column, says, readings } = question
  return (
    <li>
      <p>
        <strong>{column}</strong>: {withoutLines(says)}
      </p>
      {'file' in of && (
        <div className="actions">
          {readings.map(({ as, write }) => (
            <Link
              key={write}
              className="button small"
              title={write}
              to={at}
              search={{ file: of.file, lines: [...lines, write].join('\n') }}
              state={{ keep: [...lines, write].join('\n') }}
            >
              {as}
            </Link>
          ))}
        </div>
      )}
    </li>
  )
}

/** Shows the lines that say how the file is read, and the button to be asked again. */
function ReadBy({ file, lines, at }: { file: string; lines: readonly string[]; at: At }) {
  return (
    <p className="small">
      The file is read as was chosen: <code>{lines.join('; ')}</code>.{' '}
      <Link to={at} search={{ file }} state={{ keep: '' }}>
        Choose again
      </Link>
    </p>
  )
}

export function DraftNotes({ of, draft, at = '/templates/new' }: { of: DraftOf; draft: DraftView; at?: At }) {
  const { questions, assumptions, dialect } = draft
  return (
    <>
      {'file' in of && dialect.length > 0 && <ReadBy file={of.file} lines={dialect} at={at} />}
      {questions.length > 0 && (
        <section className="notice" aria-label="Questions">
          <p>What can be read in two ways is left out until you choose:</p>
          <ul>
            {questions.map((question) => (
              <Asked key={question.column} of={of} question={question} lines={dialect} at={at} />
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

/** Puts the metrics that do not exist yet. Existing ones stay. */
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

/** Shows the metrics that the template of a table reads. They must exist before it runs. */
export function DraftMetrics({ metrics }: { metrics: Metrics }) {
  const cache = useQueryClient()
  const put = useMutation({
    mutationFn: () => putNew(metrics),
    onSuccess: async () => {
      // A first check that is under way does not know the metrics, and its answer would be taken for that of the new
      // check.
      await cache.cancelQueries({ queryKey: ['check'] })
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
