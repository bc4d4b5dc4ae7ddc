/**
 * Renders what surrounds the text of an insight: blockers above the headline, tiles below it, and after each finding
 * its evidence.
 */
import type { Grade } from '@assay/model/insight'
import type { Element, Root } from 'hast'
import type { ComponentProps } from 'react'
import type { ExtraProps } from 'react-markdown'
import type { Insight } from '../../insights.ts'
import { BlockLink } from './block-link.tsx'
import { textIn } from './hast-text.ts'
import { useInsightContext } from './insight-context.ts'

const GRADE_WORDS: Record<Grade, string> = {
  firm: 'Clearly',
  likely: 'Probably',
  unclear: 'Cannot tell',
  withheld: 'Must not be read',
}

/** Returns an element that the page replaces by a part of the reading. */
const placed = (part: string): Element => ({
  type: 'element',
  tagName: 'aside',
  properties: { dataPart: part },
  children: [],
})

/** Sets the places, after sanitising, so that no text can make one. The title was removed before. */
export function withAround({ reading }: Insight) {
  return () =>
    (tree: Root): void => {
      if (!reading) return
      for (const [index, { says }] of reading.proofs.entries()) placeProof(tree, says, `proof-${index}`)
      const elements = tree.children.filter((node) => node.type === 'element')
      let at = elements.findIndex(({ tagName }) => tagName !== 'blockquote')
      if (elements[at]?.tagName === 'p') {
        elements[at]!.properties.className = ['lead']
        at += 1
        while (elements[at]?.tagName === 'aside') at += 1
      }
      const next = elements[at]
      tree.children.splice(next ? tree.children.indexOf(next) : tree.children.length, 0, placed('below'))
      tree.children.unshift(placed('above'))
    }
}

/** Places the evidence behind the first paragraph or item that states the finding. */
function placeProof(node: Root | Element, says: string, part: string): boolean {
  for (const [index, child] of node.children.entries()) {
    if (child.type !== 'element' || !textIn(child).includes(says)) continue
    const within = ['ul', 'ol', 'li', 'blockquote'].includes(child.tagName)
    if (within && placeProof(child, says, part)) return true
    if (child.tagName === 'li') child.children.push(placed(part))
    else if (child.tagName === 'p') node.children.splice(index + 1, 0, placed(part))
    else continue
    return true
  }
  return false
}

function Proof({ insight, index }: { insight: Insight; index: number }) {
  const proof = insight.reading?.proofs[index]
  if (!proof) return null
  const { grade, evidence, notes, method, of, n } = proof
  return (
    <details className="proof">
      <summary>
        <span className={`grade ${grade}`}>{GRADE_WORDS[grade]}</span>{' '}
        <span className="proof-word">evidence</span>
      </summary>
      <div>
        <p>{evidence}</p>
        {notes.length > 0 && (
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
        <p>
          Method: {method}, n = {n.toLocaleString('en')}.{' '}
          <BlockLink insight_id={insight.insight_id} block={of} />
        </p>
      </div>
    </details>
  )
}

export function AroundPart({ node }: ComponentProps<'aside'> & ExtraProps) {
  const insight = useInsightContext()
  const part = String(node?.properties.dataPart ?? '')
  if (!insight?.reading) return null
  if (part.startsWith('proof-')) return <Proof insight={insight} index={Number(part.slice(6))} />
  const html = insight.reading.html[part === 'above' ? 'above' : 'below']
  // The service escapes every text of this HTML (around.ts of the engine).
  return html === '' ? null : <div dangerouslySetInnerHTML={{ __html: html }} />
}
