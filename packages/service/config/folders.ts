/** The folders that analyses of any workspace read, by the settings. */
import path from 'node:path'
import { type Folder, JailError, wallsHere } from '@assay/engine/run/jail'
import { type Config, ConfigError } from './config.ts'

/** Returns these folders. `own`: the service makes the folder. */
export function foldersOf({ home, data, files }: Config): (Folder & { own: boolean })[] {
  const inBucket = files?.startsWith('s3://') ?? false
  return [
    ...(data === null ? [] : [{ path: data, writable: false, own: false }]),
    ...(inBucket ? [] : [{ path: files ?? path.join(home, 'files'), writable: false, own: true }]),
    { path: path.join(home, 'cache'), writable: true, own: true },
  ]
}

/** Throws ConfigError if the settings require walls that this machine cannot have. */
export function vetJail({ jail }: Config): void {
  try {
    wallsHere(jail)
  } catch (error) {
    if (!(error instanceof JailError)) throw error
    throw new ConfigError(error.message, { cause: error })
  }
}
