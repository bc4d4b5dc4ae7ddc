/** Shows the key with which receivers verify: the secret, shown once, or the public key. */
import type { NewWebhook } from '@assay/client'
import { Secret } from '../show.tsx'

export function SigningKey({ webhook, which = '' }: { webhook: NewWebhook; which?: string }) {
  const { signing_secret, public_key } = webhook
  if (signing_secret !== null) return <Secret label={`The ${which} signing secret`} value={signing_secret} />
  return (
    <p role="status">
      Receivers verify with the {which} public key <code>{public_key}</code>.
    </p>
  )
}
