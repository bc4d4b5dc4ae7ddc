/** Shows read-only code: at once, and coloured when the grammar is loaded. */
import { Fragment, type ReactNode, useEffect, useState } from 'react'
import { Copy } from '../show.tsx'

type Colour = typeof import('./highlight.ts').coloured

function useColour(language: string | undefined): Colour | null {
  const [colour, setColour] = useState<Colour | null>(null)
  useEffect(() => {
    if (language !== 'sql') return
    let gone = false
    void import('./highlight.ts').then(({ coloured }) => {
      if (!gone) setColour(() => coloured)
    })
    return () => {
      gone = true
    }
  }, [language])
  return colour
}

export function Code({ text, language }: { text: string; language?: string | undefined }) {
  const colour = useColour(language)
  const shown: ReactNode = colour
    ? colour(text).map(({ text: piece, style, from }) =>
        style === '' ? (
          <Fragment key={from}>{piece}</Fragment>
        ) : (
          <span key={from} className={style}>
            {piece}
          </span>
        ),
      )
    : text
  return (
    <div className="code">
      <pre tabIndex={0} role="group" aria-label={language === 'sql' ? 'SQL' : 'Code'}>
        <code>{shown}</code>
      </pre>
      <Copy text={text} />
    </div>
  )
}
