/**
 * Decides who gets a mail, and writes the one mail that asks the owner of an address for consent. The workspace
 * controls none of its text.
 */
import type { Message } from '@assay/engine/pages/mail-page'
import type { Target } from '@assay/model/subscription'
import { type ConsentBook, readConsents, readersOf } from '../../outgoing/consents.ts'
import type { SecretBox } from '../../runtime/secrets.ts'
import type { Letter } from './mime.ts'
import type { Sending } from './sender.ts'

interface Asking {
  store: ConsentBook['store']
  box: SecretBox
  publicUrl: string | null
}

/**
 * Returns who gets the mail of the event, and who is asked for consent instead. An address that was already asked
 * gets nothing.
 */
export async function recipientsOf(
  { store, box, publicUrl }: Asking,
  { workspace_id, event, now }: Sending,
  target: Target,
): Promise<{ open: string[]; ask: string[] }> {
  const unsure = Object.keys(target.unconfirmed ?? {})
  const { open, ask } = readersOf(target, await readConsents({ store, box }, workspace_id, unsure), now)
  return {
    open: event.type === 'subscription.confirm' ? [] : open,
    ask: publicUrl === null ? [] : ask,
  }
}

/** Returns the question to one address. `link`: the address of the page on which its owner agrees. */
export function question(
  to: string,
  link: string,
): Pick<Letter, 'message' | 'text' | 'pictures' | 'document' | 'foot'> {
  const message: Message = {
    headline: 'Do you want reports by mail?',
    sentences: [
      `Somebody wants to send reports to ${to} from ${new URL(link).host}.`,
      'Nothing is sent unless you agree: open the page and press the button. Otherwise do nothing.',
    ],
    facts: [],
    insight: null,
    link,
  }
  const why = `You get this one mail because ${to} was put on a list.`
  return {
    message,
    text: { body: '', cut: false },
    pictures: [],
    document: null,
    foot: { why, unsubscribe: null },
  }
}
