/**
 * The headers by which an operation announces its end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to its
 * replacement.
 */

export interface Deprecated {
  /** The day from which new programs should not use the operation, such as "2027-03-01". */
  since: string
  /** The first day on which the operation may be gone, at least `NOTICE_MONTHS` after `since`. */
  until: string
  /** The replacement: an address of the documentation. */
  instead: string
}

/** The shortest time in months between the notice and the end, as docs/api.md promises. */
const NOTICE_MONTHS = 12

/**
 * Returns the headers of each answer of the operation, errors included. Throws a RangeError if the notice is too
 * short.
 */
export function deprecationHeaders({ since, until, instead }: Deprecated): Record<string, string> {
  const [from, end] = [new Date(`${since}T00:00:00Z`), new Date(`${until}T00:00:00Z`)]
  const earliest = new Date(from)
  earliest.setUTCMonth(earliest.getUTCMonth() + NOTICE_MONTHS)
  if (!(end >= earliest))
    throw new RangeError(`An operation that is deprecated on ${since} must stay for ${NOTICE_MONTHS} months.`)
  return {
    deprecation: `@${from.getTime() / 1000}`,
    sunset: end.toUTCString(),
    link: `<${instead}>; rel="deprecation"; type="text/html"`,
  }
}
