/** Shows above the templates which commit of the repository is served, and why the newest one was refused. */
import type { RepositoryView } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { api, useIsLimited } from '../api.ts'
import { Time } from './show.tsx'

/** The milliseconds between refreshes while an author may wait for a push. */
const AGAIN_MS = 10_000
const FAULTS_SHOWN = 20

const short = (commit_id: string): string => commit_id.slice(0, 12)

function Refused({ latest }: { latest: NonNullable<RepositoryView['latest']> }) {
  const errors = latest.faults.filter(({ severity }) => severity === 'error')
  return (
    <div className="fault" role="alert">
      <p>
        The newest commit <code>{short(latest.commit_id)}</code> ({latest.subject}, {latest.author}) was
        refused, <Time at={latest.looked_at} />. What was served before is served still.
      </p>
      <ul>
        {errors.slice(0, FAULTS_SHOWN).map(({ file, line, column, message }) => (
          <li key={`${file}:${line}:${column}:${message}`}>
            {file !== '' && <code>{line === 0 ? file : `${file}:${line}`}</code>} {message}
          </li>
        ))}
      </ul>
      {errors.length > FAULTS_SHOWN && <p>And {errors.length - FAULTS_SHOWN} more.</p>}
    </div>
  )
}

function State({ of: { address, branch, taken, latest, unreached, conflicts } }: { of: RepositoryView }) {
  return (
    <>
      <p className="small">
        From <code>{address}</code>
        {branch !== null && `, branch ${branch}`}:{' '}
        {taken ? (
          <>
            commit <code>{short(taken.commit_id)}</code> ({taken.subject}), since <Time at={taken.taken_at} />
          </>
        ) : (
          'nothing of it is served yet'
        )}
      </p>
      {latest?.status === 'refused' && <Refused latest={latest} />}
      {unreached && (
        <div className="notice">
          <p>
            The repository was not reached, <Time at={unreached.at} />. {unreached.detail}
          </p>
        </div>
      )}
      {conflicts.map(({ kind, id, file }) => (
        <div className="notice" key={`${kind} ${id}`}>
          <p>
            <code>{file}</code> is not used here: this workspace has a {kind} <code>{id}</code> of its own.
          </p>
        </div>
      ))}
    </>
  )
}

export function RepositoryNote() {
  const isLimited = useIsLimited()
  const { data } = useQuery({
    queryKey: ['repository'],
    queryFn: () => api().repository.get(),
    enabled: !isLimited,
    refetchInterval: ({ state }) => (state.data?.repository ? AGAIN_MS : false),
  })
  return data?.repository ? <State of={data.repository} /> : null
}
