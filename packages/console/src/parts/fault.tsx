/** Shows an error: what went wrong, the remedy, and the request id for an operator. */

import { ClientError } from '@assay/client'
import { type ErrorComponentProps, Link } from '@tanstack/react-router'
import { OUTDATED } from '../drafts/unchanged.ts'
import { below } from '../pages/address.ts'
import { isPartFault } from '../pages/load-part.ts'

export function Fault({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof ClientError ? error.problem : null
  const said = problem?.detail ?? (error instanceof Error ? error.message : String(error))
  const isOutdated = problem?.code === 'precondition_failed'
  const text = isOutdated ? OUTDATED : said
  // A fault of a body that is a file needs no list, because the sentence says everything.
  const faults = (problem?.errors ?? []).filter(
    ({ path, message }) => path !== 'body' || !text.includes(message),
  )
  return (
    <div className="fault" role="alert">
      <p>
        <strong>{isOutdated ? 'Not saved' : (problem?.title ?? 'That did not work')}.</strong> {text}
      </p>
      {faults.length > 0 && (
        <ul>
          {faults.map(({ path, message, line, column }) => (
            <li key={`${path}${line}${message}`}>
              <code>{path}</code>
              {line !== undefined && ` line ${line}, column ${column}`}: {message}
            </li>
          ))}
        </ul>
      )}
      <p className="small">
        {problem && (
          <>
            <a href={below(`/docs/errors#${problem.code}`)}>More about this error</a> · request{' '}
            <code>{problem.request_id}</code>
          </>
        )}
        {onRetry && (
          <button type="button" className="button quiet" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
    </div>
  )
}

/** Says that a part did not arrive. Only a new load of the page asks for it again. */
function PartFault() {
  return (
    <div className="fault" role="alert">
      <p>
        A part of the console did not arrive, twice: the service is busy, was not reached, or has a newer
        console now.
      </p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Load this page again
      </button>
    </div>
  )
}

export function PageFault({ error, reset }: ErrorComponentProps) {
  return (
    <div className="page">
      <h1>This page could not be shown</h1>
      {isPartFault(error) ? <PartFault /> : <Fault error={error} onRetry={reset} />}
    </div>
  )
}

export function NotFound() {
  return (
    <main className="page" id="main">
      <h1>This page does not exist</h1>
      <p>
        There is no page at this address. <Link to="/insights">Go to the insights</Link>.
      </p>
    </main>
  )
}
