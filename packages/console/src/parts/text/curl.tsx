/** Shows the same request as a curl command to copy. */
import { SERVICE } from '../../pages/address.ts'
import { Code } from './code.tsx'

interface CurlProps {
  /** The sentence before it, without its full stop. */
  says?: string
  /** The path below /v1alpha. */
  path: string
  method?: 'GET' | 'POST'
  body?: object
  /** Further options of curl, such as -T sales.csv. */
  options?: string
}

function curlLine({ path, method = 'GET', body, options }: Omit<CurlProps, 'says'>): string {
  const json =
    body === undefined
      ? ''
      : ` \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`
  const verb = method === 'POST' && body === undefined ? ' -X POST' : ''
  const more = options === undefined ? '' : ` ${options}`
  return `curl -s${verb}${more} ${SERVICE}/v1alpha${path} \\\n  -H "Authorization: Bearer $ASSAY_TOKEN"${json}`
}

export function Curl({ says = 'Or by the API', ...line }: CurlProps) {
  return (
    <div className="curl">
      <p className="small">{says}:</p>
      <Code text={curlLine(line)} />
    </div>
  )
}
