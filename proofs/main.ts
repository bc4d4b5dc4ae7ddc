/**
 * Runs a long proof: npm run proof -- NAME [--seed N] [--OPTION VALUE]. Each proof is proofs/NAME.ts and exports
 * `proof`. The seed is printed, so that a failed run can be repeated. The exit code is 1 if a promise was broken.
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'

export interface ProofInput {
  seed: number
  /** Returns the number of the option --NAME, or the default. */
  number(name: string, fallback: number): number
  /** Returns the text of the option --NAME, or the default. */
  text(name: string, fallback: string): string
  log(line: string): void
}

export interface Proof {
  /** The line of the list of proofs. */
  summary: string
  /** Runs the proof. Resolves with each broken promise as a sentence. */
  run(input: ProofInput): Promise<string[]>
}

const folder = import.meta.dirname

async function load(name: string): Promise<Proof> {
  const module = (await import(path.join(folder, `${name}.ts`))) as { proof: Proof }
  return module.proof
}

async function list(): Promise<void> {
  const names = readdirSync(folder).filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  for (const name of names.map((file) => file.slice(0, -'.ts'.length)))
    process.stderr.write(`  npm run proof -- ${name.padEnd(12)} ${(await load(name)).summary}\n`)
}

async function main(): Promise<number> {
  const [name, ...options] = process.argv.slice(2)
  if (name === undefined || !existsSync(path.join(folder, `${name}.ts`))) {
    process.stderr.write('usage: npm run proof -- NAME [--seed N]\n')
    await list()
    return 2
  }
  if (options.includes('--help')) {
    process.stdout.write(`npm run proof -- ${name} [--seed N]\n${(await load(name)).summary}\n`)
    return 0
  }
  const text = (option: string, fallback: string): string => {
    const at = options.indexOf(`--${option}`)
    return at < 0 ? fallback : (options[at + 1] ?? '')
  }
  const number = (option: string, fallback: number): number => Number(text(option, String(fallback)))
  const seed = number('seed', Math.floor(Math.random() * 2 ** 31))
  const begun = performance.now()
  const log = (line: string): void => {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    process.stdout.write(`${seconds.padStart(7)} s  ${line}\n`)
  }
  log(`${name}, seed ${seed}`)
  const violations = await (await load(name)).run({ seed, number, text, log })
  for (const violation of violations) log(`BROKEN: ${violation}`)
  log(
    violations.length === 0 ? 'every promise held' : `${violations.length} broken promises (--seed ${seed})`,
  )
  return violations.length === 0 ? 0 : 1
}

process.exitCode = await main()
