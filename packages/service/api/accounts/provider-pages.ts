/**
 * Sign-in by the provider: the redirect to it, the return from it, and the sign-out. Each failure ends on a page that
 * says what to do.
 */

import { escapeHtml } from '@assay/engine/pages/html'
import { plainPage } from '@assay/engine/pages/plain-page'
import { notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { admit, type RecordOf } from '../../sign-in/admit.ts'
import { noPendingCookie, pendingCookie, pendingOf } from '../../sign-in/pending-cookie.ts'
import type { Provider } from '../../sign-in/provider.ts'
import { REFUSALS, SignInRefusal } from '../../sign-in/refusal.ts'
import type { Services } from '../dependencies.ts'
import { callerNetwork } from '../http/client-address.ts'
import { AnyFields } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { cookieForm } from '../http/sign-in-cookie.ts'
import { busy, send } from '../subscriptions/reader-page.ts'
import { originOf } from './credentials.ts'
import { startSignIn } from './start-sign-in.ts'

const replies = {
  200: { description: 'A page', media: ['text/html'] },
  302: { description: 'The browser is sent on' },
} as const

/** The most characters of an address to return to. Browsers and proxies refuse longer ones once they are encoded. */
const NEXT_MOST = 2400
/** The most characters of the provider's answer. Its code and its state have a few hundred characters each. */
const ANSWER_MOST = 8000

/**
 * Returns `next` if it is an address of this console, else "/". An address of another host, or one that a browser
 * could read as such, is none.
 */
export function ownAddress(next: string | undefined): string {
  return next !== undefined && next.length <= NEXT_MOST && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next)
    ? next
    : '/'
}

function theProvider({ provider }: Services): Provider {
  if (provider === null) throw notFound('sign-in provider', 'ASSAY_OIDC_ISSUER')
  return provider
}

interface Refused {
  services: Services
  request: FastifyRequest
  reply: FastifyReply
}

/**
 * Sends the page of a refusal and logs the refusal. The audit trail records it too, unless strangers could fill the
 * trail that way.
 */
function refuse({ services, request, reply }: Refused, error: unknown, next: string) {
  if (!(error instanceof SignInRefusal)) throw error
  const { reason, told } = error
  const { title, remedy, status } = REFUSALS[reason]
  services.log.warn({ cause: reason, told, request_id: request.id }, 'a sign-in by the provider was refused')
  if (reason !== 'expired')
    services.audit.note({
      ...originOf(request),
      workspace_id: DEFAULT_WORKSPACE,
      user_id: null,
      token_id: null,
      object_id: null,
      fields: [reason],
      action: 'session.refuse',
    })
  const again = `${services.config.publicUrl ?? ''}/sign-in?next=${encodeURIComponent(next)}`
  const link = `<p><a href="${escapeHtml(again)}">Sign in</a></p>`
  const sentence = `${remedy} The number of this refusal in the log is ${request.id}.`
  return send(reply, status, plainPage(title, sentence, link))
}

export const beginAtProvider = operation({
  name: 'beginAtProvider',
  tag: 'Pages',
  hidden: true,
  summary: 'Go to the sign-in provider',
  scope: null,
  query: Type.Object({ next: Type.Optional(Type.String()) }, { additionalProperties: true }),
  replies,
  errors: ['not_found'],
  async handle({ services, query, request, reply }) {
    const { secrets, clock, config } = services
    const provider = theProvider(services)
    const { allowed, reset } = services.readers.take(callerNetwork(request))
    if (!allowed) return busy(reply, reset)
    const next = ownAddress(query.next)
    try {
      const { address, begun } = await provider.begin()
      const form = cookieForm(request, config.publicUrl)
      void reply.header('set-cookie', pendingCookie(secrets, { ...begun, next }, clock.now(), form))
      return reply.header('referrer-policy', 'no-referrer').redirect(address, 302)
    } catch (error) {
      return refuse({ services, request, reply }, error, next)
    }
  },
})

export const backFromProvider = operation({
  name: 'backFromProvider',
  tag: 'Pages',
  hidden: true,
  summary: 'Come back from the sign-in provider',
  scope: null,
  query: AnyFields,
  replies,
  errors: ['not_found'],
  async handle({ services, request, reply }) {
    const { secrets, clock, config, store } = services
    const provider = theProvider(services)
    const { allowed, reset } = services.readers.take(callerNetwork(request))
    if (!allowed) return busy(reply, reset)
    const form = cookieForm(request, config.publicUrl)
    const pending = pendingOf(secrets, request, clock.now(), form)
    // A try ends the pending sign-in, whatever its result.
    void reply.header('set-cookie', noPendingCookie(form)).header('referrer-policy', 'no-referrer')
    const next = pending?.next ?? '/'
    try {
      const search = /\?.*/s.exec(request.url)?.[0] ?? ''
      if (!pending || new URLSearchParams(search).get('state') !== pending.state)
        throw new SignInRefusal('expired')
      if (search.length > ANSWER_MOST)
        throw new SignInRefusal('answer_invalid', `${search.length} characters`)
      const person = await provider.finish(search, pending)
      const record: RecordOf = (of) => ({
        ...originOf(request),
        ...of,
        action: 'user.admit',
        user_id: null,
        token_id: null,
      })
      const { signInLife: life_ms } = config
      const user = await admit({ store, rules: config.oidcGroups, life_ms, record }, person, () =>
        services.tokens.forget(),
      )
      const { workspace_id, user_id, scopes } = user
      const begun = await startSignIn(
        services,
        { workspace_id, user_id, scopes, templates: null, token_id: null },
        request,
        reply,
      )
      if (!begun) throw new SignInRefusal('expired', 'the user was deleted or disabled meanwhile')
    } catch (error) {
      return refuse({ services, request, reply }, error, next)
    }
    const query = new URLSearchParams({ by: 'provider', next })
    return reply.redirect(`${config.publicUrl}/sign-in?${query.toString()}`, 302)
  },
})

export const endAtProvider = operation({
  name: 'endAtProvider',
  tag: 'Pages',
  hidden: true,
  summary: 'Sign out at the sign-in provider, too',
  scope: null,
  query: AnyFields,
  replies,
  errors: ['not_found'],
  async handle({ services, request, reply }) {
    const provider = theProvider(services)
    const { allowed, reset } = services.readers.take(callerNetwork(request))
    if (!allowed) return busy(reply, reset)
    try {
      const address = (await provider.signOut()) ?? `${services.config.publicUrl}/sign-in`
      return reply.header('referrer-policy', 'no-referrer').redirect(address, 302)
    } catch (error) {
      return refuse({ services, request, reply }, error, '/')
    }
  },
})
