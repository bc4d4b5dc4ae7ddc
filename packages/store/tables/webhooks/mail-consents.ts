/** The columns of the consents of mail addresses. */
import type { MailConsent } from '../../contract/webhooks/mail-consents.ts'
import { Table } from '../table.ts'

export interface MailConsentRow extends MailConsent {
  workspace_id: string
  address_hash: string
}

export const MAIL_CONSENTS = new Table<MailConsentRow>('mail_consents', ['workspace_id', 'address_hash'], {
  workspace_id: 'text',
  address_hash: 'text',
  asked_at: 'time?',
  confirmed_at: 'time?',
  left_at: 'time?',
})
