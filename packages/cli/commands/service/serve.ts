/** assay serve: runs the service until it is told to stop. */

import { describeConfig, type Resolved, resolveConfig } from '@assay/service/config/config'
import type { Logger } from '@assay/service/runtime/log'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { out, say } from '../../print.ts'
import { removeServerFile, writeServerFile } from '../../server-file.ts'

export async function logOf({ config }: Resolved): Promise<Logger> {
  const { createLog } = await import('@assay/service/runtime/log')
  const format = config.logFormat === '' ? (process.stderr.isTTY ? 'text' : 'json') : config.logFormat
  return createLog({ level: config.logLevel, format })
}

/** Returns commands for a shell that list the templates, run one and print the insight. */
function curlLines(url: string, token: string): string {
  return [
    `  curl -s -H 'Authorization: Bearer ${token}' ${url}/v1alpha/jobs/templates`,
    '',
    'Create and run a job, wait for it, read the insight (needs jq):',
    '',
    `  T='Authorization: Bearer ${token}'; J='Content-Type: application/json'; U=${url}/v1alpha/jobs; \\`,
    `  ID=$(curl -s -H "$T" -H "$J" -d '{"payload":{"type":"template","template_id":"flight-delays","template_vars":{"origin":"ORD"}}}' $U/ | jq -r .); \\`,
    `  curl -s -H "$T" -H "$J" -d '{"payload":{"type":"assignment","assignment_id":"'$ID'"}}' $U/run > /dev/null; \\`,
    `  curl -s -H "$T" "$U/result?insight_id=$(curl -s -H "$T" "$U/status?assignment_id=$ID&wait=50" | jq -r .insight_id)"`,
  ].join('\n')
}

function banner(url: string, resolved: Resolved, firstToken: string | null): string {
  const { config } = resolved
  const lines = [`Assay listens on ${url}  (home ${config.home}, console ${url}/, reference ${url}/docs)`]
  if (firstToken !== null) {
    lines.push('', `The admin token, shown this once:  ${firstToken}`, '', 'List the templates:', '')
    lines.push(curlLines(url, firstToken))
  } else if (config.token === null) {
    lines.push('The admin token was shown at the first start; "assay token create" makes another.')
  }
  return `${lines.join('\n')}\n\n`
}

export const SERVE: Command = {
  name: 'serve',
  operands: '',
  summary: 'Run the service',
  details:
    'Runs until SIGINT or SIGTERM. Then it still answers for ASSAY_LINGER, takes no more requests, lets running jobs finish\n' +
    'for ASSAY_DRAIN and queues the rest again. A second signal ends it at once. The first start prints an admin token.',
  options: {},
  listens: true,
  async run(call) {
    const resolved = resolveConfig(call.environment, call.settings)
    const log = await logOf(resolved)
    const { startApp } = await import('@assay/service/app')
    const { makeLocalToken } = await import('../../local-token.ts')
    const app = await startApp({ config: resolved.config, settings: describeConfig(resolved), log })
    const { home, roles } = resolved.config
    const local = roles.includes('api') ? await makeLocalToken(app.store, home) : null
    const file = local
      ? await writeServerFile(home, { url: app.url, pid: process.pid, token: local.token }, call.environment)
      : null
    if (local && file === null)
      log.warn('commands on this machine need ASSAY_URL and ASSAY_TOKEN: the user has no folder of their own')
    out(banner(app.url, resolved, app.firstToken))
    log.info({ url: app.url, roles, ready_ms: Math.round(performance.now()) }, 'ready')
    await Promise.race([aborted(call.signal), app.done])
    say('Stopping: running jobs may finish. A second signal stops at once.')
    if (file !== null) await removeServerFile(file)
    await local?.remove()
    await app.stop()
    return EXIT.ok
  },
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
