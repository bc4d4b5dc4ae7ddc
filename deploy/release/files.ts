/**
 * Writes archives and digests that are equal for equal content: names in order, no owner of the machine, one time for
 * all files.
 */
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
  /** The time of every file, in seconds since 1970. */
  time: number
  /** The owner of the files; root by default. */
  owner?: number
  /** The files and folders to pack; by default all. */
  members?: readonly string[]
}

/** Writes the content of `folder` as a tar archive. `name` becomes the folder in it. */
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

/** Packs a file without its name and time, and removes the original. */
export function compress(file: string): string {
  execFileSync('gzip', ['--no-name', '--force', file])
  return `${file}.gz`
}
