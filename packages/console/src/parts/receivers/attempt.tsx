/** Shows one attempt of a delivery: request, answer and the time of each phase. */
import type { Attempt } from '@assay/model/delivery'
import { ADVICE } from '../../names.ts'
import { duration } from '../../words/durations.ts'
import { Time } from '../show.tsx'
import { Code } from '../text/code.tsx'

const PHASES = [
  ['dns', 'finding the host'],
  ['connect', 'connecting'],
  ['tls', 'agreeing on encryption'],
  ['first_byte', 'waiting for the answer'],
] as const

function headerLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

function PhaseBar({ phases }: { phases: Attempt['phases'] }) {
  const known = PHASES.map(([name, words]) => ({ words, ms: phases[name] ?? 0 }))
  const words = known.filter(({ ms }) => ms > 0).map((phase) => `${duration(phase.ms)} ${phase.words}`)
  return (
    <>
      <div className="phases" role="img" aria-label={`Phases: ${words.join(', ') || 'none'}`}>
        {known.map((phase) => (
          <span key={phase.words} style={{ width: `${(100 * phase.ms) / Math.max(phases.total, 0.01)}%` }} />
        ))}
      </div>
      <p className="small">
        {duration(phases.total)} in all{words.length > 0 && `: ${words.join(', ')}`}
      </p>
    </>
  )
}

export function AttemptDetails({ attempt }: { attempt: Attempt }) {
  const { number, started_at, status_code, error, phases, request, response } = attempt
  return (
    <li className={error === null ? 'good' : 'bad'}>
      <p>
        <strong>
          Attempt {number}: {status_code === null ? 'no answer' : `answered ${status_code}`}
        </strong>{' '}
        <span className="small">
          <Time at={started_at} exact />
        </span>
      </p>
      {error !== null && (
        <p>
          {error.detail} {ADVICE[error.class]}
        </p>
      )}
      <PhaseBar phases={phases} />
      <details>
        <summary>What was sent</summary>
        <Code
          text={`${request.method} ${request.url}\n${headerLines(request.headers)}\n\n${pretty(request.body)}`}
        />
      </details>
      {response !== null && (
        <details>
          <summary>What came back</summary>
          <Code
            text={`${status_code}\n${headerLines(response.headers)}\n\n${response.body}${response.truncated ? '\n…' : ''}`}
          />
        </details>
      )}
    </li>
  )
}
