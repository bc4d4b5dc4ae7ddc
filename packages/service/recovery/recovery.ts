/** The exports of backups for the command line. */
export { newIdentity, parseIdentities, parseRecipient } from './age.ts'
export { findBackup, openLocation, prune } from './locations.ts'
export { restore } from './restore.ts'
export { keysOfBackups } from './schedule.ts'
export { verifyBackup } from './verify.ts'
export { makeBackup } from './write.ts'
