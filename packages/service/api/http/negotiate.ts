/** Chooses the media type that a client wants most (RFC 9110, section 12.5.1). Pure. */

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

/** Tells how closely a range names the type: 3 exactly, 2 by `type/*`, 1 by a full wildcard, 0 not at all. */
function specificity(range: Range, offer: string): number {
  const [type, subtype] = offer.split('/')
  if (range.type === type && range.subtype === subtype) return 3
  if (range.type === type && range.subtype === '*') return 2
  return range.type === '*' ? 1 : 0
}

/**
 * Returns the offer with the highest quality, and among equals the first. The range that names an offer most closely
 * gives its quality. Returns null if the client accepts none. An absent or unreadable header accepts all.
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

/**
 * Returns the content coding that a client wants most, and among equals the first (RFC 9110, section 12.5.3). Returns
 * null if the client accepts none of them.
 */
export function preferredCoding<Coding extends string>(
  header: string | undefined,
  offers: readonly Coding[],
): Coding | null {
  const wanted = new Map<string, number>()
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    if (name !== '' && quality >= 0 && quality <= 1) wanted.set(name, quality)
  }
  let best: Coding | null = null
  let most = wanted.get('identity') ?? 0
  // Sending without a coding wins only if the client names its quality and that quality is above all others.
  for (const offer of offers) {
    const quality = wanted.get(offer) ?? wanted.get('*') ?? 0
    if (quality > 0 && (best === null ? quality >= most : quality > most)) [best, most] = [offer, quality]
  }
  return best
}
