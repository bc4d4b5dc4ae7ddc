/** Parsers of the settings of the sign-in provider. Each throws an Error whose message says what the value must be. */
import { SCOPES, type Scope } from '@assay/model/token'

/** Members of the group (`*` for everybody) are admitted to the workspace with the scope. */
export interface GroupRule {
  group: string
  workspace_id: string
  scope: Scope
}

const RULE = /^(?<group>.+)=(?<workspace_id>[a-z0-9][a-z0-9_-]{0,62}):(?<scope>[a-z]+)$/
const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text)

/**
 * Parses "assay-admins=default:admin;*=default:viewer". A group may hold "=", ":" and ",", as distinguished names do.
 */
export function groupRules(value: string): GroupRule[] {
  const rules = value
    .split(/[;\n]/)
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const { group, workspace_id, scope } = RULE.exec(part)?.groups ?? {}
      if (group === undefined || scope === undefined || !isScope(scope))
        throw new Error(
          `must list GROUP=WORKSPACE:SCOPE, divided by ";", with a scope of ${SCOPES.join(', ')}; ${JSON.stringify(part)} is not one`,
        )
      return { group: group.trim(), workspace_id: workspace_id!, scope }
    })
  const twice = rules.find(({ group }, at) => rules.findIndex((rule) => rule.group === group) < at)
  if (twice) throw new Error(`must name each group once; ${JSON.stringify(twice.group)} is named twice`)
  const every = rules.findIndex(({ group }) => group === '*')
  if (every >= 0 && every < rules.length - 1)
    throw new Error('must name * last: it stands for everybody, so no rule behind it would ever be used')
  return rules
}

/** Parses the issuer. It is kept exactly as written, because tokens must hold the same text. */
export function issuer(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new Error('must be an https address without a name, a query and "#"')
  if (url.pathname.includes('/.well-known/'))
    throw new Error('must be the issuer alone, without /.well-known/openid-configuration')
  if (
    /microsoftonline\./.test(url.hostname) &&
    /^\/(common|organizations|consumers)(\/|$)/i.test(url.pathname)
  )
    throw new Error(
      'must name your tenant: /common, /organizations and /consumers let in people of every tenant; write https://login.microsoftonline.com/TENANT_ID/v2.0',
    )
  return value
}

export function oidcScopes(value: string): string {
  const names = value.split(/\s+/).filter(Boolean)
  if (names.some((name) => !/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(name)))
    throw new Error('must list scopes, divided by spaces')
  if (!names.includes('openid')) throw new Error('must hold openid, which asks who a person is')
  return names.join(' ')
}

export function claimName(value: string): string {
  if (!/^[\x21-\x7e]{1,200}$/.test(value)) throw new Error('must be the name of a claim, without white space')
  return value
}
