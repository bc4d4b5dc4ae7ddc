/** Secrets in files, as container platforms mount them: ASSAY_TOKEN_FILE=/run/secrets/token in place of ASSAY_TOKEN. */
import { readFileSync } from 'node:fs'

const SUFFIX = '_FILE'

export interface WithSecrets {
  /** The variables, with each secret in place of its file. */
  environment: NodeJS.ProcessEnv
  faults: string[]
}

/**
 * Reads the files that are named for `secrets`, a list of variables such as ASSAY_TOKEN. The line break at the end of
 * a file does not belong to the secret. The faults name files that cannot be read.
 */
export function readSecretFiles(given: NodeJS.ProcessEnv, secrets: readonly string[]): WithSecrets {
  const environment = { ...given }
  const faults: string[] = []
  for (const name of secrets) {
    const variable = `${name}${SUFFIX}`
    const file = given[variable]
    delete environment[variable]
    if (file === undefined || file === '') continue
    if (given[name]) faults.push(`${variable}: ${name} is set, too; leave one of them out.`)
    try {
      const secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
      if (secret === '') faults.push(`${variable}: ${file} is empty; write the secret into it.`)
      environment[name] = secret
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      faults.push(`${variable}: ${file} is not a file that this process can read (${code}).`)
    }
  }
  return { environment, faults }
}
