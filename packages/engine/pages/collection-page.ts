/**
 * The page of a collection for readers of a link: its insights, each with its first sentence, how sure it is and its figure. It has the style
 * and the policy of the page of an insight, and loads nothing.
 */
import type { InsightCard } from '@assay/model/insight-card'
import { escapeHtml } from './html.ts'
import { dayInWords, INSIGHT_PAGE_POLICY, PAGE_SCRIPT, wholePage } from './plain-page.ts'

type Card = Pick<
  InsightCard,
  'insight_id' | 'title' | 'headline' | 'grade' | 'figure' | 'period' | 'created_at'
>

export interface ShownCollection {
  name: string
  description: string | null
  cards: readonly Card[]
  /** The address of the page of an insight. */
  addressOf(insight_id: string): string
}

const GRADES: Record<NonNullable<Card['grade']>, string> = {
  firm: 'Clear',
  likely: 'Probable',
  unclear: 'Cannot tell',
  withheld: 'Must not be read',
}

function entry(
  { insight_id, title, headline, grade, figure, period, created_at }: Card,
  addressOf: ShownCollection['addressOf'],
): string {
  const told = [
    // A withheld figure stands only on the page of its insight, below the reason.
    ...(figure === null || grade === 'withheld'
      ? []
      : [`${figure.label.charAt(0).toUpperCase()}${figure.label.slice(1)}: ${figure.text}`]),
    ...(grade === null ? [] : [GRADES[grade]]),
    period ?? dayInWords(created_at),
  ]
  const sentence = headline === null ? '' : `<p>${escapeHtml(headline)}</p>\n`
  return `<h2><a href="${escapeHtml(addressOf(insight_id))}">${escapeHtml(title)}</a></h2>
${sentence}<p><small>${escapeHtml(told.join(' · '))}</small></p>
`
}

export function collectionPage({ name, description, cards, addressOf }: ShownCollection): string {
  const title = escapeHtml(name)
  const lead = description === null ? '' : `<p>${escapeHtml(description)}</p>\n`
  const entries = cards.map((card) => entry(card, addressOf)).join('')
  const shown = entries === '' ? '<p>There is no insight in it at present.</p>\n' : entries
  const body = `<main>\n<h1>${title}</h1>\n${lead}${shown}</main>`
  return wholePage(title, body, INSIGHT_PAGE_POLICY, PAGE_SCRIPT)
}

const BODY = '<body>\n'

/** The page of an insight with the way back to the collection by which it was opened. */
export function withWayBack(page: Buffer, name: string, address: string): Buffer {
  const way = `<nav><a href="${escapeHtml(address)}">← ${escapeHtml(name)}</a></nav>\n`
  const at = page.indexOf(BODY) + BODY.length
  return Buffer.concat([page.subarray(0, at), Buffer.from(way), page.subarray(at)])
}
