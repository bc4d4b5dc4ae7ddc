/** What a page does, as the line that does it from a shell. The token is one of the shell, never that of the session. */
import { Code } from './code.tsx'

interface CurlProps {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below /v1alpha. */
  path: string
  body?: object
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

export function curlLine({ method = 'GET', path, body }: CurlProps): string {
  const parts = [
    `curl -s${method === 'GET' || (method === 'POST' && body) ? '' : ` -X ${method}`} ${quoted(`${location.origin}/v1alpha${path}`)}`,
    '-H "Authorization: Bearer $ASSAY_TOKEN"',
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`] : []),
  ]
  return parts.join(' \\\n  ')
}

export function Curl(props: CurlProps) {
  return (
    <div className="curl">
      <p>Or from a shell:</p>
      <Code text={curlLine(props)} />
    </div>
  )
}
