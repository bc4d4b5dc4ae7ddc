/** Lists the faults of a text that is being edited, each with a link to its place. */
import type { Fault } from '@assay/model/template'
import { useEffect, useState } from 'react'

const CHECK_AFTER_MS = 500

/** Returns the text once it has not changed for half a second. */
export function useSettled(source: string): string {
  const [settled, setSettled] = useState(source)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(source), CHECK_AFTER_MS)
    return () => clearTimeout(timer)
  }, [source])
  return settled
}

export function FaultList(props: { faults: readonly Fault[]; onGo(fault: Fault): void; pending: boolean }) {
  const { faults, onGo, pending } = props
  return (
    <div role="status">
      <p className="small">
        {pending ? 'Checking…' : faults.length === 0 ? '✓ No faults found.' : `${faults.length} to look at:`}
      </p>
      <ul className="faults">
        {faults.map((fault) => (
          <li key={`${fault.line}:${fault.column}:${fault.message}`}>
            <button type="button" className="button quiet small" onClick={() => onGo(fault)}>
              Line {fault.line}, column {fault.column}
            </button>{' '}
            {fault.severity}: {fault.message} {fault.remedy}
          </li>
        ))}
      </ul>
    </div>
  )
}
