/** Checks of the store: whether it answers, its schema, its clock, and the keys of its secrets. */
import { AppError } from '@assay/model/errors'
import { lookAtStore, openCopySource, type StoreLook } from '@assay/store/copy'
import type { Config } from '../config/config.ts'
import { SKEW_MOST_MS } from '../queue/store-clock.ts'
import { keyFileOf, readKeys } from '../runtime/home.ts'
import { SecretBox } from '../runtime/secrets.ts'
import { opensCheck } from '../secrets/key-check.ts'
import { countSecrets } from '../secrets/reseal.ts'
import { type Finding, failed, ok, sizeOf, unused, warning } from './finding.ts'

/** The connections of a node beside those of ASSAY_STORE_CONNECTIONS: for leases and hints. */
const OTHER_CONNECTIONS = 4
const OLDEST_MAJOR = 14
const SKEW_FEW_MS = 5000

/** Looks at the store. `look` is null if there is no store. */
export async function look(config: Config): Promise<{ look: StoreLook | null; findings: Finding[] }> {
  const { store: url, home } = config
  try {
    const found = await lookAtStore({ url, home })
    if (found === null)
      return {
        look: null,
        findings: [unused('store', 'There is no database yet: the first start makes it.')],
      }
    return { look: found, findings: [store(found, config), clock(found), await key(found, config)] }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const cause = error.cause instanceof Error ? ` It said: ${error.cause.message}.` : ''
    const remedy = url.startsWith('postgres')
      ? 'Check the address in ASSAY_STORE, that PostgreSQL runs, and that it lets this machine in.'
      : 'Check the file and its disk; restore a backup where it is damaged.'
    return { look: null, findings: [failed('store', `${error.message}${cause}`, remedy)] }
  }
}

const SCHEMA_REMEDIES = {
  older: 'Run "assay migrate", or start a node: it brings the schema up to date.',
  newer: 'Install the version that wrote it, or restore a backup made before it ran.',
}

function store({ server, schema, bytes, standby, connections, kind }: StoreLook, config: Config): Finding {
  const says = `${server}, ${sizeOf(bytes)}.`
  if (schema === 'older' || schema === 'newer')
    return failed('store', `${says} Its schema is ${schema} than this version.`, SCHEMA_REMEDIES[schema])
  if (standby)
    return failed(
      'store',
      `${says} It is a standby, which takes no writes.`,
      'Name the primary in ASSAY_STORE.',
    )
  if (kind === 'postgres' && Number.parseInt(server.split(' ')[1]!, 10) < OLDEST_MAJOR)
    return failed('store', says, `Use PostgreSQL ${OLDEST_MAJOR} or later.`)
  if (connections) {
    const needed = config.storeConnections + OTHER_CONNECTIONS
    if (connections.most - connections.open < needed)
      return warning(
        'store',
        `${says} ${connections.open} of ${connections.most} connections are open, and a node needs up to ${needed}.`,
        'Raise max_connections, put PgBouncer before it, or lower ASSAY_STORE_CONNECTIONS.',
      )
  }
  return ok('store', schema === 'none' ? `${says} It is empty: the first start makes its tables.` : says)
}

function clock({ ahead_ms, newest_at }: StoreLook): Finding {
  if (ahead_ms !== null) {
    const seconds = (Math.abs(ahead_ms) / 1000).toFixed(1)
    const says = `The clock of the database is ${seconds} s ${ahead_ms > 0 ? 'ahead of' : 'behind'} this machine's.`
    const remedy =
      'Set the clocks by NTP: signatures of webhooks bear the time, and receivers refuse old ones.'
    if (Math.abs(ahead_ms) > SKEW_MOST_MS) return failed('clock', says, remedy)
    return Math.abs(ahead_ms) > SKEW_FEW_MS ? warning('clock', says, remedy) : ok('clock', says)
  }
  const back = newest_at === null ? 0 : Date.parse(newest_at) - Date.now()
  if (back > SKEW_FEW_MS)
    return failed(
      'clock',
      `The newest event was ${Math.round(back / 1000)} s later than it is now: the clock was set back.`,
      'Set the clock by NTP. What waits for a time waits until it comes again.',
    )
  return ok('clock', `It is ${new Date().toISOString()}, after the newest event.`)
}

async function key({ key_check }: StoreLook, config: Config): Promise<Finding> {
  const file = keyFileOf(config.home)
  const source = config.secretKey.length > 0 ? 'ASSAY_SECRET_KEY' : file
  const putBack = `Put the key back, or run "assay secrets forget --lost" and enter the secrets again.`
  let keys: Buffer[] | null
  try {
    keys = config.secretKey.length > 0 ? config.secretKey : await readKeys(file)
  } catch (error) {
    return failed('key', (error as Error).message, putBack)
  }
  if (key_check === null) return unused('key', 'Nothing is sealed yet.')
  if (keys === null) return failed('key', `There is no key: ${file} is gone.`, putBack)
  const box = new SecretBox(keys)
  if (!opensCheck(box, key_check))
    return failed('key', `${source} holds another key than the store's.`, putBack)
  const opened = await openCopySource({ url: config.store, home: config.home })
  try {
    const { lost, older } = await countSecrets(opened, box, { answers: false })
    if (lost.length > 0)
      return failed(
        'key',
        `${lost.length} webhooks, subscriptions and connections have secrets that no key opens.`,
        'Enter them again: "assay secrets list" names them.',
      )
    return older > 0
      ? warning(
          'key',
          `${older} secrets are sealed by an older key.`,
          'Run "assay secrets reseal", then "assay secrets forget".',
        )
      : ok('key', `The key ${box.first} opens every secret.`)
  } finally {
    await opened.close()
  }
}
