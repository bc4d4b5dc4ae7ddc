/** Which of several media types a client wants most (RFC 9110, section 12.5.1). Pure. */

interface Range {
  type: string
  subtype: string
  quality: number
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

function rangeOf(part: string): Range | null {
  const [media = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
  const [type = '', subtype = '', ...rest] = media.split('/')
  if (rest.length > 0 || !TOKEN.test(type) || !TOKEN.test(subtype) || (type === '*' && subtype !== '*'))
    return null
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return quality >= 0 && quality <= 1 ? { type, subtype, quality } : null
}

/** How well a range names the type: 3 exactly, 2 by `type/*`, 1 by a full wildcard, 0 not at all. */
function specificity(range: Range, offer: string): number {
  const [type, subtype] = offer.split('/')
  if (range.type === type && range.subtype === subtype) return 3
  if (range.type === type && range.subtype === '*') return 2
  return range.type === '*' ? 1 : 0
}

/**
 * The offer with the highest quality; among equals the first. An offer's quality is that of the range that names it most
 * closely. Null: the client accepts none. An absent or unreadable header accepts all.
 */
export function preferred<Offer extends string>(
  accept: string | undefined,
  offers: readonly Offer[],
): Offer | null {
  const ranges = (accept ?? '')
    .split(',')
    .map(rangeOf)
    .filter((range) => range !== null)
  if (ranges.length === 0) return offers[0] ?? null
  let best: Offer | null = null
  let most = 0
  for (const offer of offers) {
    const closest = ranges
      .map((range) => ({ range, rank: specificity(range, offer) }))
      .filter(({ rank }) => rank > 0)
      .toSorted((a, b) => b.rank - a.rank)[0]
    const quality = closest?.range.quality ?? 0
    if (quality > most) {
      most = quality
      best = offer
    }
  }
  return best
}

/** Whether `If-None-Match` names the tag (weak comparison). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((part) => part.trim().replace(/^W\//, '') === tag)
}
