/** Archives and digests that are the same for the same content: names in order, no owner of the machine, one time for all files. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

export interface Packing {
  /** Seconds since 1970, the time of every file. */
  time: number
  /** Who owns the files; root where nothing is said. */
  owner?: number
  /** Files and folders to pack, where not all are. */
  members?: readonly string[]
}

/** Writes what lies in `folder` as a tar archive; `name` becomes the folder in it. */
export function writeTar(
  folder: string,
  file: string,
  { time, owner = 0, members = ['.'] }: Packing,
  name?: string,
): void {
  const options = ['--sort=name', '--format=gnu', `--mtime=@${time}`, '--numeric-owner']
  const owners = [`--owner=${owner}`, `--group=${owner}`]
  const named = name === undefined ? [] : [`--transform=flags=r;s,^\\.,${name},`]
  execFileSync('tar', [...options, ...owners, '-C', folder, '-cf', path.resolve(file), ...named, ...members])
}

/** Packs a file, without its name and time; the file itself is gone after it. */
export function compress(file: string): string {
  execFileSync('gzip', ['--no-name', '--force', file])
  return `${file}.gz`
}
