/** Addresses of repositories by ssh, in both forms that "git clone" takes, and the keys by which a git server is known. */
import { createHash } from 'node:crypto'

export interface SshAddress {
  /** The user of the address; null if it names none. */
  user: string | null
  /** The host in lower case. */
  host: string
  port: number
  /** The path for the server. A path of the short form is relative to the user's home there. */
  path: string
}

const SHORT = /^(?:([A-Za-z0-9_.-]+)@)([A-Za-z0-9.-]+):(?!\/\/)(.+)$/
const SSH_PORT = 22

/**
 * Parses the address. Returns null if it is not an ssh address. Throws an Error whose message says what the address
 * must be.
 */
export function sshAddress(address: string): SshAddress | null {
  if (/^(git\+)?ssh:\/\//.test(address)) return longForm(address)
  const [, user, host, path] = SHORT.exec(address) ?? []
  return path === undefined
    ? null
    : { user: user!, host: host!.toLowerCase(), port: SSH_PORT, path: vetted(path) }
}

function longForm(address: string): SshAddress {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || url.hostname === '' || url.pathname.length < 2)
    throw new Error('must be the address of a repository: ssh://git@HOST/PATH.git or git@HOST:PATH.git')
  if (url.password !== '') throw new Error('must hold no password: set ASSAY_TEMPLATES_SSH_KEY')
  if (url.search !== '' || url.hash !== '')
    throw new Error('must end with the path of the repository; its branch is ASSAY_TEMPLATES_BRANCH')
  // As in git, "/~" begins a path below the home of a user.
  const path = decodeURIComponent(url.pathname).replace(/^\/(?=~)/, '')
  return {
    user: url.username === '' ? null : decodeURIComponent(url.username),
    host: url.hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? SSH_PORT : Number(url.port),
    path: vetted(path),
  }
}

/** Checks the path, which becomes part of a command on the server, in apostrophes. */
function vetted(path: string): string {
  if (/['\\!\p{Cc}]/u.test(path) || path.startsWith('-'))
    throw new Error('must have a path without apostrophes, backslashes, "!" and invisible characters')
  return path.replace(/\/+$/, '')
}

const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}=?$/

export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`

/**
 * Returns the fingerprints that a setting names. It may name each as it is, or as a line of a known_hosts file or of
 * ssh-keyscan. Throws an Error whose message says what the text must be.
 */
export function hostKeys(value: string): string[] {
  const found: string[] = []
  for (const line of value.split(/[\n;]/).map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) continue
    const words = line.split(/[\s,]+/)
    if (words.every((word) => FINGERPRINT.test(word)))
      found.push(...words.map((word) => word.replace(/=$/, '')))
    else found.push(ofKnownHost(line))
  }
  return found
}

function ofKnownHost(line: string): string {
  const words = line.split(/\s+/)
  // A marker names a revoked key or a certificate authority. Neither is a server's key.
  const at = line.startsWith('@') ? -1 : words.findIndex((word) => /^(ssh|ecdsa|sk)-[a-z0-9@.-]+$/.test(word))
  const key = Buffer.from(words[at + 1] ?? '', 'base64')
  const name = at >= 0 && key.length > 4 ? key.subarray(4, 4 + key.readUInt32BE(0)).toString() : null
  if (name === null || name !== words[at])
    throw new Error('must be fingerprints such as SHA256:..., or lines that ssh-keyscan HOST writes')
  return fingerprintOf(key)
}

/** Parses the private key; null for an empty text. Throws an Error whose message says what the text must be. */
export function sshKey(value: string): string | null {
  if (value === '') return null
  if (!/^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(value))
    throw new Error('must be a private key as ssh-keygen writes it, from its line BEGIN to its line END')
  return value
}
