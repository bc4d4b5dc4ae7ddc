/** Verifies webhooks with Node's cryptography. A bundler for browsers takes signature-browser.ts in its place. */
export { SignatureError, sign, verify } from '@assay/model/signature'
