/** The same by the API, as a line to paste: what the console does can be had without it. */
import { Code } from './code.tsx'

interface CurlProps {
  /** Before it, as a sentence without its end. */
  says?: string
  /** Below /v1alpha. */
  path: string
  method?: 'GET' | 'POST'
  body?: object
  /** Options besides, such as -T sales.csv. */
  options?: string
}

export function curlLine({ path, method = 'GET', body, options }: Omit<CurlProps, 'says'>): string {
  const json =
    body === undefined
      ? ''
      : ` \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`
  const verb = method === 'POST' && body === undefined ? ' -X POST' : ''
  const more = options === undefined ? '' : ` ${options}`
  return `curl -s${verb}${more} ${location.origin}/v1alpha${path} \\\n  -H "Authorization: Bearer $ASSAY_TOKEN"${json}`
}

export function Curl({ says = 'Or by the API', ...line }: CurlProps) {
  return (
    <div className="curl">
      <p className="small">{says}:</p>
      <Code text={curlLine(line)} />
    </div>
  )
}
