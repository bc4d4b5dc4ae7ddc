/**
 * Renders the Markdown of an insight. HTML in it stays text; the rest is sanitised; links lead to the web or into the
 * page; pictures of other hosts become links, because loading one would reveal the reader; `chart:` pictures are
 * charts.
 */
import type { Element, Root } from 'hast'
import { type ComponentProps, memo } from 'react'
import Markdown, { type Components, defaultUrlTransform, type ExtraProps } from 'react-markdown'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import type { Insight } from '../../insights.ts'
import { Code } from '../text/code.tsx'
import { AroundPart, withAround } from './around.tsx'
import { ChartFigure } from './chart.tsx'
import { textIn } from './hast-text.ts'
import { InsightContext, useInsightContext } from './insight-context.ts'
import { withNumbers } from './numbers.ts'
import { SortedTable } from './sorted-table.tsx'

const PICTURE = /^data:image\/(png|gif|jpeg|webp);base64,[A-Za-z0-9+/=]+$/i
const CHART = /^chart:([a-z0-9_-]+)$/
const COMPUTED = 'How this was computed'
const EVIDENCE = 'Evidence'

const SCHEMA = {
  ...defaultSchema,
  protocols: { ...defaultSchema.protocols, src: ['http', 'https', 'data', 'chart'] },
}

function keepAddress(address: string): string {
  return CHART.test(address) || PICTURE.test(address) ? address : defaultUrlTransform(address)
}

function propertyText(node: Element, name: string): string {
  const value = node.properties[name]
  return Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : ''
}

const isHeading = (node: { type: string }, name: string): node is Element =>
  node.type === 'element' && (node as Element).tagName === name

/**
 * Turns links of bare addresses back into text. GFM makes a link of a bare address, so that a value of data could lead
 * elsewhere. A link of the author begins with a bracket in the Markdown.
 */
function withoutBareLinks() {
  return (tree: Root, file: { value: unknown }): void => {
    const source = String(file.value)
    const isBare = (node: Element): boolean =>
      node.tagName === 'a' &&
      !propertyText(node, 'href').startsWith('#') &&
      !/[[<]/.test(source.charAt(node.position?.start.offset ?? source.length))
    const plain = (node: Root | Element): void => {
      node.children = node.children.flatMap((child): Root['children'] => {
        if (child.type !== 'element') return [child]
        plain(child)
        return isBare(child) ? child.children : [child]
      }) as Element['children']
    }
    plain(tree)
  }
}

/** Leaves out the title and "How this was computed", which the page shows in its own form. */
function withoutFrame() {
  return (tree: Root): void => {
    const nodes = tree.children
    const first = nodes.findIndex(({ type }) => type === 'element')
    if (first >= 0 && isHeading(nodes[first]!, 'h1')) nodes.splice(first, 1)
    const last = nodes.findLastIndex((node) => isHeading(node, 'h2'))
    if (last >= 0 && textIn(nodes[last] as Element) === COMPUTED) nodes.splice(last)
  }
}

/** Gives headings ids to link to, after sanitising, so that no text can choose an id. */
function withAnchors(prefix: string) {
  return () =>
    (tree: Root): void => {
      let count = 0
      for (const node of tree.children) {
        if (node.type !== 'element' || !/^h[1-6]$/.test(node.tagName)) continue
        count += 1
        const words =
          textIn(node)
            .toLowerCase()
            .match(/[\p{L}\p{N}]+/gu) ?? []
        node.properties.id = `${prefix}-${count}-${words.slice(0, 6).join('-')}`
      }
    }
}

/** Folds the statistics, as the shared page does. */
function withFolded() {
  return (tree: Root): void => {
    const start = tree.children.findIndex((node) => isHeading(node, 'h2') && textIn(node) === EVIDENCE)
    if (start < 0) return
    const next = tree.children.findIndex((node, index) => index > start && isHeading(node, 'h2'))
    const end = next < 0 ? tree.children.length : next
    const [heading, ...rest] = tree.children.slice(start, end) as Element[]
    const summary: Element = { type: 'element', tagName: 'summary', properties: {}, children: [heading!] }
    const properties = { className: ['folded'] }
    tree.children.splice(start, end - start, {
      type: 'element',
      tagName: 'details',
      properties,
      children: [summary, ...rest],
    })
  }
}

function Picture({ src: address = '', alt = '' }: ComponentProps<'img'> & ExtraProps) {
  const insight = useInsightContext()
  const id = CHART.exec(address)?.[1]
  const chart = insight?.charts.find((candidate) => candidate.id === id)
  if (chart) return <ChartFigure chart={chart} />
  if (PICTURE.test(address)) return <img src={address} alt={alt} />
  return (
    <a href={address} rel="noreferrer noopener nofollow">
      {alt === '' ? 'Picture' : alt} ({address})
    </a>
  )
}

/** Renders a paragraph. A chart is a figure, which HTML forbids inside one. */
function Paragraph({ node, children }: ComponentProps<'p'> & ExtraProps) {
  const only = node?.children.length === 1 ? node.children[0] : undefined
  const chart = only?.type === 'element' && CHART.test(propertyText(only, 'src'))
  return chart ? <>{children}</> : <p className={propertyText(node!, 'className')}>{children}</p>
}

function Fenced({ node, children }: ComponentProps<'pre'> & ExtraProps) {
  const code = node?.children[0]
  if (code?.type !== 'element') return <pre>{children}</pre>
  const language = /language-(\w+)/.exec(propertyText(code, 'className'))?.[1]
  return <Code text={textIn(code).replace(/\n$/, '')} language={language} />
}

function Anchor({ href, children }: ComponentProps<'a'> & ExtraProps) {
  return (
    <a href={href} rel="noreferrer noopener nofollow">
      {children}
    </a>
  )
}

const COMPONENTS: Components = {
  img: Picture,
  p: Paragraph,
  pre: Fenced,
  a: Anchor,
  table: SortedTable,
  aside: AroundPart,
}

export const InsightText = memo(function InsightText({ insight }: { insight: Insight }) {
  return (
    <InsightContext value={insight}>
      <Markdown
        remarkPlugins={[remarkGfm]}
        rehypePlugins={[
          [rehypeSanitize, SCHEMA],
          withoutBareLinks,
          withoutFrame,
          withAround(insight),
          withNumbers(insight),
          withAnchors(`part-${insight.insight_id.slice(-6)}`),
          withFolded,
        ]}
        components={COMPONENTS}
        urlTransform={keepAddress}
      >
        {insight.markdown}
      </Markdown>
    </InsightContext>
  )
})
