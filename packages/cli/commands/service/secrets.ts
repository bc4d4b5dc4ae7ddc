/** assay secrets: manages the keys that seal the secrets of a store. */
import { randomBytes } from 'node:crypto'
import { systemClock } from '@assay/model/clock'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { SecretBox } from '@assay/service/runtime/secrets'
import type { SecretCounts } from '@assay/service/secrets'
import type { Store } from '@assay/store/store'
import type { Call, Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { flag, JSON_OPTION } from '../../options.ts'
import { out, printJson, say, table } from '../../print.ts'

const configOf = (call: Call): Config => resolveConfig(call.environment, call.settings).config

/** Returns the keys of the settings or of the home, even if they do not fit the store. */
async function boxOf(config: Config): Promise<{ box: SecretBox; keys: Buffer[] }> {
  const { SecretBox } = await import('@assay/service/runtime/secrets')
  const { keyFileOf, readKeys } = await import('@assay/service/secrets')
  const keys = config.secretKey.length > 0 ? config.secretKey : await readKeys(keyFileOf(config.home))
  if (!keys)
    throw new ExitError(
      EXIT.notFound,
      `There is no key: put ${keyFileOf(config.home)} back, or set ASSAY_SECRET_KEY.`,
    )
  return { box: new SecretBox(keys), keys }
}

async function counted(config: Config, box: SecretBox): Promise<SecretCounts> {
  const { countSecrets } = await import('@assay/service/secrets')
  const { openCopySource } = await import('@assay/store/copy')
  const source = await openCopySource({ url: config.store, home: config.home })
  try {
    return await countSecrets(source, box)
  } finally {
    await source.close()
  }
}

async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const { openStore } = await import('@assay/store/open')
  const { requireGivenKey } = await import('@assay/service/secrets')
  const store = await openStore({ url: config.store, home: config.home, clock: systemClock, publicUrl: null })
  try {
    requireGivenKey(store, config)
    return await work(store)
  } finally {
    await store.close()
  }
}

const inHome = (config: Config): boolean => config.secretKey.length === 0

function lostTable({ lost }: SecretCounts): string {
  return table(
    ['TO ENTER AGAIN', 'WORKSPACE', 'ID', 'WHAT'],
    lost.map(({ kind, workspace_id, id, what }) => [kind, workspace_id, id, what.join(', ')]),
  )
}

const LIST: Command = {
  name: 'secrets list',
  operands: '',
  summary: 'Show which keys seal the secrets of the store, and what no key opens',
  details: 'Works while the service runs. Ends with 1 where secrets must be entered again.',
  options: { json: JSON_OPTION },
  async run(call) {
    const config = configOf(call)
    const { box, keys } = await boxOf(config)
    const counts = await counted(config, box)
    const { keyIdOf } = await import('@assay/service/runtime/secrets')
    const own = keys.map(keyIdOf)
    const rows = [...new Set([...own, ...Object.keys(counts.keys)])].map((id) => ({
      key_id: id,
      state: id === own[0] ? 'seals' : own.includes(id) ? 'opens' : 'is not here',
      texts: counts.keys[id] ?? 0,
    }))
    if (call.on('json')) printJson({ keys: rows, lost: counts.lost, lost_answers: counts.lost_answers })
    else {
      out(
        table(
          ['KEY', 'STATE', 'SEALED TEXTS'],
          rows.map(({ key_id, state, texts }) => [key_id, state, texts]),
        ),
      )
      if (counts.lost.length > 0) out(`\n${lostTable(counts)}`)
    }
    return counts.lost.length > 0 ? EXIT.failed : EXIT.ok
  },
}

const ROTATE: Command = {
  name: 'secrets rotate',
  operands: '',
  summary: 'Make a new key, which seals from the next start on beside the old ones',
  details: 'Then restart the service, or run "assay secrets reseal" at once while it is stopped.',
  options: {},
  async run(call) {
    const config = configOf(call)
    const { keys } = await boxOf(config)
    const made = randomBytes(32)
    if (!inHome(config)) {
      out(`${made.toString('hex')}\n`)
      say(
        'This is the new key. First give every node ASSAY_SECRET_KEY=OLD,NEW, so that all can open what it seals; then NEW,OLD: the first seals. ' +
          'Then run "assay secrets reseal".',
      )
      return EXIT.ok
    }
    const { keyFileOf, writeKeys } = await import('@assay/service/secrets')
    await writeKeys(config.home, [made, ...keys])
    out(`${keyFileOf(config.home)}\n`)
    say(
      'A new key seals from the next start on; the old ones still open. Stop the service and run "assay secrets reseal".',
    )
    return EXIT.ok
  },
}

const RESEAL: Command = {
  name: 'secrets reseal',
  operands: '',
  summary: 'Seal every secret of the store by the first key',
  details:
    'Stop a service on SQLite first; nodes on PostgreSQL go on. A run that was cut off is finished by the next one.',
  options: {},
  async run(call) {
    const config = configOf(call)
    const { box } = await boxOf(config)
    const { CHECK, opensCheck, resealAll } = await import('@assay/service/secrets')
    const { openCopySource } = await import('@assay/store/copy')
    const count = await withStore(config, async (store) => {
      const kept = await store.getKept(CHECK)
      if (kept !== null && !opensCheck(box, kept))
        throw new ExitError(
          EXIT.refused,
          'The secrets of this store were sealed with another key: add that key first.',
        )
      const source = await openCopySource({ url: config.store, home: config.home })
      try {
        return await resealAll(store, source, box)
      } finally {
        await source.close()
      }
    })
    const left = await counted(config, box)
    out(`${count}\n`)
    say(
      `${count} rows were sealed anew by the key ${box.first}. ` +
        (left.lost.length > 0
          ? `${left.lost.length} are sealed by a key that is not here ("assay secrets list").`
          : 'Now "assay secrets forget" retires the old keys.'),
    )
    return EXIT.ok
  },
}

const FORGET: Command = {
  name: 'secrets forget',
  operands: '',
  summary: 'Retire all keys but the first, once they seal nothing',
  details:
    'Stop a service on SQLite first. --lost is for a key that is gone for good: the store takes the present key, and what the lost one sealed\n' +
    'must be entered again. Links to unsubscribe in mail that was sent before the new key stop working.',
  options: { lost: flag('Give up the secrets that no key opens') },
  async run(call) {
    const config = configOf(call)
    const lost = call.on('lost')
    const { CHECK, homeKeys, leaveHashKeys, opensCheck, sealCheck, writeKeys } = await import(
      '@assay/service/secrets'
    )
    const { SecretBox } = await import('@assay/service/runtime/secrets')
    return withStore(config, async (store) => {
      const keys = inHome(config) && lost ? await homeKeys(config.home) : (await boxOf(config)).keys
      const box = new SecretBox(keys)
      const counts = await counted(config, box)
      if (counts.older > 0)
        throw new ExitError(
          EXIT.refused,
          `${counts.older} sealed texts need the older keys: run "assay secrets reseal" first.`,
        )
      const kept = await store.getKept(CHECK)
      const foreign = kept !== null && !opensCheck(box, kept)
      if ((counts.lost.length > 0 || counts.lost_answers > 0 || foreign) && !lost)
        throw new ExitError(
          EXIT.refused,
          `The secrets of ${counts.lost.length} webhooks, subscriptions and connections are sealed by a key that is not here ` +
            '("assay secrets list"): add that key, or give them up with --lost.',
        )
      await leaveHashKeys(box, store)
      await store.replaceKept({ key: CHECK, value: sealCheck(box) })
      if (inHome(config)) await writeKeys(config.home, keys.slice(0, 1))
      else if (keys.length > 1) say(`Now give every node the first key alone (${box.first}).`)
      if (counts.lost.length > 0) out(lostTable(counts))
      say(`The key ${box.first} is the only one that this store needs.`)
      return EXIT.ok
    })
  },
}

export const SECRETS: readonly Command[] = [LIST, ROTATE, RESEAL, FORGET]
