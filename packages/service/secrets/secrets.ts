/** What the command line uses of the keys of secrets. */
export { homeKeys, keyFileOf, readKeys, writeKeys } from '../runtime/home.ts'
export { CHECK, leaveHashKeys, opensCheck, requireGivenKey, sealCheck } from './key-check.ts'
export { countSecrets, resealAll, type SecretCounts } from './reseal.ts'
