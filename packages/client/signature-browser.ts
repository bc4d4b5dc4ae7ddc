/** Stands for signature.ts in a browser (the field `browser` of package.json): a browser receives no webhooks. */
import type { SignatureError as Fault, sign as Sign } from '@assay/model/signature'
import type { verify as Verify } from './signature.ts'

export const SignatureError = undefined as unknown as typeof Fault
export const sign = undefined as unknown as typeof Sign
export const verify = undefined as unknown as typeof Verify
