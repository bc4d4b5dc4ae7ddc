/**
 * The headers by which an operation announces its end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to its
 * replacement.
 */

export interface Deprecated {
  /** The day from which it is not to be used in new programs, such as "2027-03-01". */
  since: string
  /** The day from which it may be gone: at least `NOTICE_MONTHS` after `since`. */
  until: string
  /** What to use: an address of the documentation. */
  instead: string
}

/** The shortest time between the notice and the end, as docs/api.md promises. */
const NOTICE_MONTHS = 12

/** The headers of each answer, errors included. Throws a RangeError where the notice is too short. */
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
