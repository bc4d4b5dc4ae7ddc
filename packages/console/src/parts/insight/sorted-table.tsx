/** Shows a table of the text with sortable columns and a link to its SQL and rows. */
import type { Element, ElementContent } from 'hast'
import {
  Children,
  type ComponentProps,
  isValidElement,
  type ReactElement,
  type ReactNode,
  useState,
} from 'react'
import type { ExtraProps } from 'react-markdown'
import { FILTERED_FROM } from '../../answers/tables.ts'
import { BlockLink } from './block-link.tsx'
import { useInsightContext } from './insight-context.ts'
import { SaveRows } from './rows.tsx'
import { compareCells, type Order, SortButton, turned } from './sorting.tsx'

type Part = ReactElement<{ children?: ReactNode }>

const partsOf = (node: ReactNode): Part[] =>
  Children.toArray(node).filter((child) => isValidElement(child)) as Part[]

function elements(node: Element | undefined, name: string): Element[] {
  const found: Element[] = []
  const visit = (child: ElementContent): void => {
    if (child.type !== 'element') return
    if (child.tagName === name) found.push(child)
    else child.children.forEach(visit)
  }
  node?.children.forEach(visit)
  return found
}

const textOf = (node: ElementContent): string =>
  node.type === 'text' ? node.value : 'children' in node ? node.children.map(textOf).join('') : ''

/** Returns the texts of the cells by row, without the heading. */
function cellsOf(node: Element | undefined): string[][] {
  return elements(node, 'tbody')
    .flatMap((body) => elements(body, 'tr'))
    .map((row) => elements(row, 'td').map(textOf))
}

export function SortedTable({ node, children }: ComponentProps<'table'> & ExtraProps) {
  const insight = useInsightContext()
  const [order, setOrder] = useState<Order | null>(null)
  const [wanted, setWanted] = useState('')
  const headings = elements(node, 'th').map(textOf)
  const cells = cellsOf(node)
  const [head, body] = partsOf(children)
  const heads = head ? partsOf(partsOf(head.props.children)[0]?.props.children) : []
  const rows = body ? partsOf(body.props.children) : []
  const indexes = rows.map((_, index) => index)
  const shown = order
    ? indexes.toSorted((a, b) => compareCells(cells[a]?.[order.column], cells[b]?.[order.column], order))
    : indexes
  const words = wanted.trim().toLowerCase()
  const kept = shown.filter((index) => cells[index]!.join(' ').toLowerCase().includes(words))
  const block = node?.properties.dataBlock
  return (
    <figure className="table">
      <div className="scroll" role="group" aria-label={`Table: ${headings.join(', ')}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {heads.map((cell, column) => (
                <SortButton
                  key={cell.key}
                  align={/right|center/.exec(JSON.stringify(elements(node, 'th')[column]?.properties))?.[0]}
                  order={order?.column === column ? order : null}
                  onSort={() => setOrder(turned(order, column))}
                >
                  {cell.props.children}
                </SortButton>
              ))}
            </tr>
          </thead>
          <tbody>{kept.map((index) => rows[index])}</tbody>
        </table>
      </div>
      {rows.length >= FILTERED_FROM && (
        <input
          type="search"
          className="input filter-rows"
          aria-label="Filter rows"
          placeholder="Filter rows"
          value={wanted}
          onChange={({ target }) => setWanted(target.value)}
        />
      )}
      <SaveRows
        heads={headings}
        rows={kept.map((index) => cells[index]!)}
        block={typeof block === 'string' ? block : undefined}
      />
      {insight && typeof block === 'string' && (
        <figcaption>
          <BlockLink insight_id={insight.insight_id} block={block} />
        </figcaption>
      )}
    </figure>
  )
}
