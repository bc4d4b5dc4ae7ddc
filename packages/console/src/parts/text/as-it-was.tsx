/** Shows a text as it was when a job was created, with what has changed since. */
import { Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { lazyPart } from '../../pages/load-part.ts'

const SourceView = lazyPart(() => import('./editor.tsx'), 'SourceView')

/** Returns the lines of a text that the other does not have. */
function linesBeyond(text: string, other: string): string[] {
  const known = new Set(other.split('\n').map((line) => line.trimEnd()))
  return text.split('\n').filter((line) => !known.has(line.trimEnd()))
}

interface Texts {
  noun: 'metric' | 'template'
  earlier: string
  /** The present text; null if there is none. */
  now: string | null
}

function Changed({ noun, earlier, now }: Texts) {
  if (now === null) return <p>The {noun} has been deleted since.</p>
  if (now === earlier) return <p>It is the same now.</p>
  const [old, young] = [linesBeyond(earlier, now), linesBeyond(now, earlier)]
  return (
    <>
      <p>It has changed since.</p>
      <dl>
        <dt>Only then</dt>
        <dd>{old.length === 0 ? 'nothing' : <pre>{old.join('\n')}</pre>}</dd>
        <dt>Only now</dt>
        <dd>{young.length === 0 ? 'nothing' : <pre>{young.join('\n')}</pre>}</dd>
      </dl>
    </>
  )
}

/** Says which job the text was read for. */
export function CreatedWith({ noun, assignment_id }: Pick<Texts, 'noun'> & { assignment_id: string }) {
  return (
    <p>
      The {noun === 'metric' ? 'definition' : 'template'} with which{' '}
      <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
        this job
      </Link>{' '}
      was created.
    </p>
  )
}

export function AsItWas({ label, ...texts }: Texts & { label: string }) {
  return (
    <>
      <Changed {...texts} />
      <Suspense fallback={<p className="waiting">Loading…</p>}>
        <SourceView source={texts.earlier} label={label} />
      </Suspense>
    </>
  )
}
