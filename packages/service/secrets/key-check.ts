/** Checks whether keys are those of a store. They must open a text that the store keeps for this check. */
import { randomBytes } from 'node:crypto'
import type { Store } from '@assay/store/store'
import { type Config, ConfigError } from '../config/config.ts'
import { homeKeys, keyFileOf, readKeys } from '../runtime/home.ts'
import { SecretBox, SecretError } from '../runtime/secrets.ts'

export const CHECK = 'secret_key_check'
const PLAIN = 'assay'

/** Tells whether the box opens the kept text. */
export function opensCheck(box: SecretBox, kept: string): boolean {
  try {
    box.open(kept, CHECK)
    return true
  } catch (error) {
    if (error instanceof SecretError) return false
    throw error
  }
}

export const sealCheck = (box: SecretBox): string => box.seal(PLAIN, CHECK)

const HASH_KEYS = 'older_hash_keys'
/** The purpose of the hashes of mail addresses (outgoing/consents.ts). */
const HASHED = 'mail address'

type Kept = Pick<Store, 'getKept' | 'replaceKept'>

/**
 * Stores the keys of hashes, sealed by the first key, so that addresses are still known when older keys are removed.
 */
export async function leaveHashKeys(box: SecretBox, store: Kept): Promise<void> {
  await takeHashKeys(box, store)
  const keys = [...new Set(box.hashKeys(HASHED).map((key) => key.toString('base64url')))]
  await store.replaceKept({ key: HASH_KEYS, value: box.seal(JSON.stringify(keys), HASH_KEYS) })
}

async function takeHashKeys(box: SecretBox, store: Pick<Store, 'getKept'>): Promise<void> {
  const sealed = await store.getKept(HASH_KEYS)
  if (sealed === null || !box.holdsKeyOf(sealed)) return
  const keys = JSON.parse(box.open(sealed, HASH_KEYS)) as string[]
  box.addHashKeys(
    HASHED,
    keys.map((key) => Buffer.from(key, 'base64url')),
  )
}

type KeyConfig = Pick<Config, 'secretKey' | 'home' | 'roles'>

/** Throws ConfigError on PostgreSQL without ASSAY_SECRET_KEY, because every node needs the same key. */
export function requireGivenKey(store: Pick<Store, 'kind'>, { secretKey }: Pick<Config, 'secretKey'>): void {
  if (store.kind === 'postgres' && secretKey.length === 0)
    throw new ConfigError(
      'ASSAY_SECRET_KEY: on PostgreSQL every node needs the same key, 32 bytes as hex or base64.',
    )
}

/**
 * Makes the box of the secret keys. If other keys sealed the secrets of the store, the box is locked: it says what is
 * missing and seals nothing. Throws ConfigError for a node that has no use with a locked box.
 */
export async function openSecrets(
  config: KeyConfig,
  store: Pick<Store, 'kind' | 'getKept' | 'keepOnce'>,
): Promise<SecretBox> {
  requireGivenKey(store, config)
  const file = keyFileOf(config.home)
  const given = config.secretKey.length > 0 ? config.secretKey : null
  let kept = await store.getKept(CHECK)
  // Only the first start makes a key. A store without its key later is one whose key is missing.
  const keys = given ?? (kept === null ? await homeKeys(config.home) : await readKeys(file))
  const box = new SecretBox(keys ?? [randomBytes(32)])
  kept ??= await store.keepOnce(CHECK, sealCheck(box))
  if (opensCheck(box, kept)) {
    await takeHashKeys(box, store)
    return box
  }
  const missing = given ? 'ASSAY_SECRET_KEY' : file
  const locked =
    `${missing}: ${keys ? 'the secrets in this store were sealed with another key' : 'the file with the key of the secrets is gone'}; ` +
    'put that key back (of several the first seals), or give the secrets up with "assay secrets forget --lost" and enter them again.'
  if (!config.roles.includes('api')) throw new ConfigError(locked)
  return new SecretBox(keys ?? [randomBytes(32)], locked)
}
