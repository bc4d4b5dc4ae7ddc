/** The exports of the keys of secrets for the command line. */
export { homeKeys, keyFileOf, readKeys, writeKeys } from '../runtime/home.ts'
export { CHECK, leaveHashKeys, opensCheck, requireGivenKey, sealCheck } from './key-check.ts'
export { countSecrets, resealAll, type SecretCounts } from './reseal.ts'
