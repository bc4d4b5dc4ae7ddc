/** assay doctor: tries each part of a service, whether it runs or not, and says what to do. */
import type { Client } from '@assay/client'
import { type Config, ConfigError, resolveConfig } from '@assay/service/config/config'
import type { Finding } from '@assay/service/doctor'
import { allPages } from '../../client-command.ts'
import type { Call, Command } from '../../command.ts'
import { connect } from '../../connect.ts'
import { EXIT } from '../../exit.ts'
import { JSON_OPTION } from '../../options.ts'
import { out, printJson } from '../../print.ts'
import { findServer } from '../../server-file.ts'

const MARKS = { ok: 'ok', warning: 'WARNING', failed: 'FAILED', unused: '-' } as const

function print(findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const indent = ' '.repeat(width + 11)
  for (const { part, state, says, remedy } of findings)
    out(
      `${part.padEnd(width)}  ${MARKS[state].padEnd(7)}  ${says}\n${remedy === null ? '' : `${indent}${remedy}\n`}`,
    )
}

/** Reads the settings, or returns what is wrong with each of them. */
function settings(call: Call): { config: Config | null; findings: Finding[] } {
  try {
    const { config, origin } = resolveConfig(call.environment, call.settings)
    const given = Object.values(origin).filter((from) => from !== 'default').length
    const says = `${given} settings are given, the others have their defaults ("assay config").`
    return { config, findings: [{ part: 'settings', state: 'ok', says, remedy: null }] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const findings = error.message
      .split('\n')
      .map((says): Finding => ({ part: 'settings', state: 'failed', says, remedy: 'See docs/config.md.' }))
    return { config: null, findings }
  }
}

/** Returns what the service on this home reports about itself; null if none runs. */
async function service(config: Config, call: Call): Promise<{ runs: boolean; finding: Finding }> {
  const part = 'service'
  const server = await findServer(config.home, call.environment)
  if (!server)
    return {
      runs: false,
      finding: { part, state: 'unused', says: `No service runs on ${config.home}.`, remedy: null },
    }
  const answer = await fetch(new URL('/readyz', server.url), { signal: AbortSignal.timeout(15_000) }).catch(
    () => null,
  )
  if (answer?.ok)
    return {
      runs: true,
      finding: { part, state: 'ok', says: `It runs at ${server.url} and is ready.`, remedy: null },
    }
  const { detail = 'it does not answer' } = ((await answer?.json().catch(() => null)) ?? {}) as {
    detail?: string
  }
  return {
    runs: true,
    finding: {
      part,
      state: 'failed',
      says: `It runs at ${server.url} and is not ready: ${detail}`,
      remedy: 'Its log says since when; the other parts may say why.',
    },
  }
}

async function tryConnections(client: Client): Promise<Finding[]> {
  const connections = await allPages((page) => client.connections.list(page))
  if (connections.length === 0)
    return [
      {
        part: 'connections',
        state: 'unused',
        says: 'There are none in the default workspace.',
        remedy: null,
      },
    ]
  const findings: Finding[] = []
  for (const { name } of connections) {
    const part = `connection ${name}`
    const { ok, server, detail } = await client.connections.test(name)
    findings.push(
      ok
        ? { part, state: 'ok', says: `${server} answered.`, remedy: null }
        : {
            part,
            state: 'failed',
            says: detail ?? 'It cannot be used.',
            remedy: `Check its address, its secrets and ASSAY_CONNECTION_TARGETS: assay connection test ${name}`,
          },
    )
  }
  return findings
}

/** Tests the connections through the running service, or through one that this command starts. */
async function connections(call: Call, failedParts: readonly string[]): Promise<Finding[]> {
  const part = 'connections'
  const skipped = (says: string): Finding[] => [{ part, state: 'unused', says, remedy: null }]
  if (failedParts.includes('store')) return skipped('They cannot be tried without the store.')
  try {
    const connection = await connect(call)
    try {
      return await tryConnections(connection.client)
    } finally {
      await connection.close()
    }
  } catch (error) {
    if ((error as { code?: unknown }).code === EXIT.unavailable) return skipped('There is no store yet.')
    const says = `They could not be tried: ${(error as Error).message}`
    const remedy =
      failedParts.length > 0 ? 'Mend the other parts first.' : 'Mend what this names, and try again.'
    return [{ part, state: 'failed', says, remedy }]
  }
}

export const DOCTOR: Command = {
  name: 'doctor',
  operands: '',
  summary: 'Try each part of the service and say what to do, whether it runs or not',
  details:
    'Tries settings, home, disk, store, clock, key, uploads, backups, mail, connections, walls, templates and addresses. Nothing that it writes stays.\n' +
    'Ends with 1 if a part has failed.',
  options: { json: JSON_OPTION },
  async run(call) {
    const { config, findings } = settings(call)
    if (config) {
      const { examine } = await import('@assay/service/doctor')
      const { runs, finding } = await service(config, call)
      findings.push(finding, ...(await examine(config, runs)))
      const failedParts = findings.filter(({ state }) => state === 'failed').map(({ part }) => part)
      findings.push(...(await connections(call, failedParts)))
    }
    if (call.on('json')) printJson(findings)
    else print(findings)
    if (!config) return EXIT.config
    return findings.some(({ state }) => state === 'failed') ? EXIT.failed : EXIT.ok
  },
}
