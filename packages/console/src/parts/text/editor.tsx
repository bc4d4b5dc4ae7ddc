/** CodeMirror as React components: a read-only source, and an editor that marks faults at their positions. */

import type { Fault } from '@assay/model/template'
import type { EditorView } from '@codemirror/view'
import { type RefObject, useEffect, useRef } from 'react'
import { type ColumnsOf, mountEditor, mountReader, showFaults } from './code-mirror.ts'

export function SourceView({ source, label }: { source: string; label: string }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const view = mountReader(host.current!, source, label)
    return () => view.destroy()
  }, [source, label])
  return <div className="source" ref={host} />
}

interface EditorProps {
  /** The initial text; afterwards the editor holds it. */
  first: string
  label: string
  faults: readonly Fault[]
  view: RefObject<EditorView | null>
  onChange(source: string): void
  /** Gives the columns that the editor of a template completes. It must stay the same function. */
  columnsOf?: ColumnsOf
}

export function Editor({ first, label, faults, view, onChange, columnsOf }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(onChange)
  const start = useRef(first)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    const told = (source: string): void => {
      start.current = source
      latest.current(source)
    }
    const made = mountEditor(host.current!, start.current, label, told, columnsOf)
    view.current = made
    return () => {
      view.current = null
      made.destroy()
    }
  }, [label, view, columnsOf])
  useEffect(() => {
    if (view.current) showFaults(view.current, faults)
  }, [faults, view])
  return <div className="source" ref={host} />
}
