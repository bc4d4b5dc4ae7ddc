/** Where traces are sent: the two settings that say it, as they are read. */

/** The address to which spans are sent; `path` is that of OTLP over HTTP unless it is given whole. */
const SPANS_PATH = '/v1/traces'

/** "http://collector:4318" -> "http://collector:4318/v1/traces". Null: there is none. */
export function parseCollector(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error('must be an http or https address without a query, such as http://collector:4318')
  if (url.username !== '' || url.password !== '')
    throw new Error('must hold no password: give what the endpoint asks for in ASSAY_TRACES_HEADERS')
  const whole = value.replace(/\/+$/, '')
  return whole.endsWith(SPANS_PATH) ? whole : `${whole}${SPANS_PATH}`
}

/** "authorization=Bearer%20abc,x-team=7": names and values divided by commas, a value percent-encoded where it must be. */
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
