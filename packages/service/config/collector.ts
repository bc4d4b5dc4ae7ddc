/** Parsers of the two settings of traces. */

/** The path of OTLP over HTTP, which is added unless the address ends in it. */
const SPANS_PATH = '/v1/traces'

/** Turns "http://collector:4318" into "http://collector:4318/v1/traces". Returns null for an empty text. */
export function parseCollector(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error('must be an http or https address without a query, such as http://collector:4318')
  if (url.username !== '' || url.password !== '')
    throw new Error('must hold no password: set the headers of the endpoint in ASSAY_TRACES_HEADERS')
  const whole = value.replace(/\/+$/, '')
  return whole.endsWith(SPANS_PATH) ? whole : `${whole}${SPANS_PATH}`
}

/** Parses "authorization=Bearer%20abc,x-team=7": names and percent-encoded values, separated by commas. */
export function parseCollectorHeaders(value: string): Record<string, string> {
  const parts = value === '' ? [] : value.split(',')
  return Object.fromEntries(
    parts.map((part) => {
      const [, name = '', encoded = ''] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(.*?)\s*$/.exec(part) ?? []
      const text = decoded(encoded)
      if (name === '' || text === null || !/^[\x20-\x7e]+$/.test(text))
        throw new Error('must be NAME=VALUE,NAME=VALUE with values of visible characters, percent-encoded')
      return [name.toLowerCase(), text]
    }),
  )
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
