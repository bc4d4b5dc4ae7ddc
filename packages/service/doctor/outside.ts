/** Checks of other servers: uploads, backups, mail, the public address, traces, the language model. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError } from '@assay/model/errors'
import { createGuard } from '@assay/net/guard'
import { createBucket, targetsOfBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import type { Config } from '../config/config.ts'
import { bucketOf } from '../files/open.ts'
import { type Location, openLocation } from '../recovery/locations.ts'
import { keysOfBackups } from '../recovery/schedule.ts'
import { converse } from '../webhooks/senders/smtp.ts'
import { type Finding, failed, ok, unused, warning } from './finding.ts'
import { writable } from './machine.ts'

const PATIENCE_MS = 5000

function reason(error: unknown): string {
  const { message, cause } = error as Error
  const under = cause instanceof Error ? cause.message : ''
  return under !== '' && !message.includes(under) ? `${message}: ${under}` : message
}

/** Checks the bucket: writes an object, reads its description and deletes it. */
export async function uploads(config: Config): Promise<Finding> {
  const bucket = bucketOf(config)
  if (!bucket) {
    const folder = config.files ?? path.join(config.home, 'files')
    if (config.files === null && (await stat(folder).catch(() => null)) === null)
      return unused('uploads', `${folder} is made at the first start.`)
    return writable('uploads', folder, 'Give the folder of ASSAY_FILES to the user of the service.')
  }
  const guard = createGuard({ targets: parseTargets(targetsOfBucket(bucket.config)) })
  const scratch = await mkdtemp(path.join(tmpdir(), 'assay-doctor-'))
  try {
    const file = path.join(scratch, 'file')
    await writeFile(file, 'a file')
    const made = createBucket(bucket.config, guard)
    const key = `${bucket.prefix === '' ? '' : `${bucket.prefix}/`}.assay-doctor-${process.pid}`
    await made.write(key, file, 6, {})
    const found = await made.head(key)
    await made.remove(key)
    return found?.bytes === 6
      ? ok('uploads', `Objects can be written to, read from and deleted in ${config.files}.`)
      : failed('uploads', `${config.files} does not give back what is written.`, 'Check the bucket.')
  } catch (error) {
    return failed(
      'uploads',
      `${config.files} cannot be used: ${reason(error)}`,
      'Check ASSAY_FILES, its endpoint and region, and that the key may list, read, write and delete.',
    )
  } finally {
    await guard.close()
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The name of a file that no list of backups holds. */
const TRIED = `assay-doctor-${process.pid}`

/** Puts a file where backups are kept, and takes it away with the folder that was made for it. */
async function tryPlace(location: Location): Promise<void> {
  const isNew = !location.address.startsWith('s3://') && !existsSync(location.address)
  await location.put(TRIED, (file) => writeFile(file, 'tried'))
  await location.remove(TRIED)
  if (isNew) await rmdir(location.address)
}

export async function backups(config: Config): Promise<Finding> {
  if (config.backup === null)
    return warning(
      'backups',
      'No backups are made.',
      'Set ASSAY_BACKUP, or run "assay backup" by a timer of yours.',
    )
  const location = openLocation(config.backup, keysOfBackups(config))
  try {
    const newest = (await location.list()).at(-1)
    await tryPlace(location)
    if (!newest)
      return warning(
        'backups',
        `There is no backup in ${location.address} yet.`,
        'A running service makes one; see its log.',
      )
    const age = Date.now() - Date.parse(newest.created_at)
    const says = `The newest backup in ${location.address} is of ${newest.created_at}.`
    return age > 2 * config.backupEvery
      ? failed('backups', says, 'Look for "no backup could be made" in the log of the service.')
      : ok('backups', says)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return failed('backups', error.message, 'Check ASSAY_BACKUP and its keys.')
  } finally {
    await location.close()
  }
}

/** Checks the mail server: connects and logs in. It sends nothing. */
export async function mail({ smtpUrl: server }: Config): Promise<Finding> {
  if (server === null) return unused('mail', 'No mail is sent: ASSAY_SMTP_URL is not set.')
  const where = `${server.host}:${server.port}`
  const limits = { connect: PATIENCE_MS, silence: PATIENCE_MS, whole: 3 * PATIENCE_MS }
  const giveUp = new AbortController().signal
  const said = await converse({ server, from: '', mails: [], limits, giveUp })
  return said?.error
    ? failed(
        'mail',
        `${where}: ${said.error.detail}`,
        'Check ASSAY_SMTP_URL, and that this machine may reach the server.',
      )
    : ok('mail', `${where} took the connection${server.user === null ? '' : ' and the login'}.`)
}

async function asked(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) })
}

/** Checks whether clients reach this service under its public address. */
export async function publicAddress({ publicUrl }: Config, runs: boolean): Promise<Finding> {
  if (publicUrl === null)
    return unused('public address', 'Addresses of results are without a host: ASSAY_PUBLIC_URL is not set.')
  if (!runs) return unused('public address', `${publicUrl} is tried while the service runs.`)
  const remedy = 'Check ASSAY_PUBLIC_URL with its path, the proxy before the service, and its certificate.'
  try {
    const answer = await asked(`${publicUrl}/healthz`)
    const text = (await answer.text()).slice(0, 200)
    const { origin, pathname } = new URL(publicUrl)
    const metadata = `${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`
    if (answer.status === 200 && text.includes('"status":"ok"'))
      return (await asked(metadata)).status === 200
        ? ok('public address', `${publicUrl} leads to a service.`)
        : failed(
            'public address',
            `${publicUrl} leads to a service, and ${metadata} does not: agents cannot find out how people sign in.`,
            'Let the proxy lead this address to the service, too (deploy/proxies has files for nginx, Caddy and HAProxy).',
          )
    return failed(
      'public address',
      `${publicUrl}/healthz answers ${answer.status}, and not as a service does.`,
      remedy,
    )
  } catch (error) {
    return failed('public address', `${publicUrl} cannot be reached: ${reason(error)}.`, remedy)
  }
}

export async function traces({ traces: url, tracesHeaders }: Config): Promise<Finding> {
  if (url === null) return unused('traces', 'Nothing is traced: ASSAY_TRACES is not set.')
  const remedy = 'Check ASSAY_TRACES and ASSAY_TRACES_HEADERS.'
  try {
    const headers = { ...tracesHeaders, 'content-type': 'application/json' }
    const { status } = await asked(url, { method: 'POST', headers, body: '{"resourceSpans":[]}' })
    return status < 300
      ? ok('traces', `The collector at ${url} takes spans.`)
      : failed('traces', `The collector at ${url} answers ${status}.`, remedy)
  } catch (error) {
    return failed('traces', `The collector at ${url} cannot be reached: ${reason(error)}.`, remedy)
  }
}

export async function languageModel({
  narrateUrl: url,
  narrateKey: key,
  narrateModel,
}: Config): Promise<Finding> {
  const part = 'language model'
  if (url === null) return unused(part, 'No text is narrated: ASSAY_NARRATE_URL is not set.')
  const remedy = 'Check ASSAY_NARRATE_URL, ASSAY_NARRATE_KEY and ASSAY_NARRATE_MODEL.'
  try {
    const { status } = await asked(
      `${url}/models`,
      key === null ? {} : { headers: { authorization: `Bearer ${key}` } },
    )
    if (status === 401 || status === 403) return failed(part, `${url} refuses the key (${status}).`, remedy)
    return status < 500
      ? ok(part, `${url} answers; ${narrateModel} is asked there.`)
      : failed(part, `${url} answers ${status}.`, remedy)
  } catch (error) {
    return failed(part, `${url} cannot be reached: ${reason(error)}.`, remedy)
  }
}
