/** Tries each part that the settings name, and tells its state and the remedy. It leaves no change behind. */
import type { Config } from '../config/config.ts'
import { type Finding, failed } from './finding.ts'
import * as machine from './machine.ts'
import * as outside from './outside.ts'
import { signInProvider } from './provider.ts'
import * as store from './store.ts'

export type { Finding } from './finding.ts'

type Check = [part: string, check: () => Finding | Promise<Finding>]

async function tried([part, check]: Check): Promise<Finding> {
  try {
    return await check()
  } catch (error) {
    return failed(
      part,
      `It could not be tried: ${(error as Error).message}`,
      'Report this: it is a fault of the check.',
    )
  }
}

/** Returns the findings of all parts. `runs`: a service runs on the home now. */
export async function examine(config: Config, runs: boolean): Promise<Finding[]> {
  const onMachine: Check[] = [
    ['program', () => machine.program(config)],
    ['home', () => machine.home(config)],
    ['disk', () => machine.disk(config.home)],
    ['temporary folder', machine.temporary],
    ['data', () => machine.data(config)],
    ['jail', () => machine.jail(config)],
    ['templates', () => machine.templates(config)],
  ]
  const away: Check[] = [
    ['uploads', () => outside.uploads(config)],
    ['backups', () => outside.backups(config)],
    ['mail', () => outside.mail(config)],
    ['public address', () => outside.publicAddress(config, runs)],
    ['sign-in provider', () => signInProvider(config)],
    ['traces', () => outside.traces(config)],
    ['language model', () => outside.languageModel(config)],
  ]
  const [first, stored, rest] = await Promise.all([
    Promise.all(onMachine.map(tried)),
    store.look(config).catch((error: unknown) => ({
      findings: [failed('store', `It could not be tried: ${(error as Error).message}`, 'Check ASSAY_STORE.')],
    })),
    Promise.all(away.map(tried)),
  ])
  return [...first, ...stored.findings, ...rest]
}
