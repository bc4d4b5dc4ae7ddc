/** Commands: the row of a command in the table for parsing and help, and its function. */
import { parseArgs } from 'node:util'
import { flagOf, SETTINGS, type SettingName } from '@assay/service/config/config'
import { UsageError } from './exit.ts'

export interface Option {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** The placeholder of the value in the help. */
  value?: string
  doc: string
}

export interface Command {
  /** The name of one or two words: "serve", "jobs list". */
  name: string
  /** The operands in the form of the help: "FILE...", "ID", "[NAME]". */
  operands: string
  summary: string
  /** Further text for the command's own help. */
  details?: string
  options: Record<string, Option>
  /** True if the command stops by itself when `signal` is aborted. The process of any other command ends at once. */
  listens?: boolean
  run(call: Call): Promise<number>
}

/** The arguments of a command. */
export interface Call {
  operands: string[]
  /** Returns the value of an option of the command, or of a flag of a setting. */
  text(name: string): string | undefined
  on(name: string): boolean
  all(name: string): string[]
  /** The settings that are given as flags. */
  settings: Partial<Record<SettingName, string>>
  environment: NodeJS.ProcessEnv
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal
}

const COMMON: Record<string, Option> = {
  help: { type: 'boolean', short: 'h', doc: 'Show this help' },
  url: {
    type: 'string',
    value: 'URL',
    doc: 'Address of a service elsewhere (ASSAY_URL); else the one of this home',
  },
}

const settingNames = new Map(
  (Object.keys(SETTINGS) as SettingName[]).map((name) => [flagOf(name).slice(2), name]),
)

function settingOptions(): Record<string, Option> {
  return Object.fromEntries(
    [...settingNames].map(([flag, name]) => [
      flag,
      { type: 'string' as const, value: 'VALUE', doc: SETTINGS[name].doc },
    ]),
  )
}

/** Returns the number of operands: "FILE..." takes one or more, "[NAME]" none or one, "A B" two. */
function operandRange(operands: string): { least: number; most: number } {
  const words = operands.split(' ').filter(Boolean)
  const least = words.filter((word) => !word.startsWith('[')).length
  const open = words.some((word) => word.replace(/\]$/, '').endsWith('...'))
  return { least, most: open ? Number.POSITIVE_INFINITY : words.length }
}

/** Finds the command that the words begin with: the longest name wins. */
export function findCommand(commands: readonly Command[], words: readonly string[]): Command | undefined {
  return commands
    .filter(({ name }) => name.split(' ').every((word, index) => words[index] === word))
    .toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** Parses a command line. `args` lacks the command's own name. Throws UsageError. */
export function parseCall(
  command: Command,
  args: string[],
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Call & { help: boolean } {
  const options: Record<string, Option> = { ...settingOptions(), ...COMMON, ...command.options }
  const parsed = parse(options, args, command)
  const values = parsed.values as Record<string, string | boolean | string[] | undefined>
  const help = values.help === true
  const { least, most } = operandRange(command.operands)
  if (!help && (parsed.positionals.length < least || parsed.positionals.length > most)) {
    throw new UsageError(
      `usage: assay ${command.name}${command.operands ? ` ${command.operands}` : ''}   (assay ${command.name} --help)`,
    )
  }
  const settings: Call['settings'] = {}
  for (const [flag, name] of settingNames) {
    const value = values[flag]
    if (typeof value === 'string' && !(flag in command.options)) settings[name] = value
  }
  return {
    help,
    operands: parsed.positionals,
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    on: (name) => values[name] === true,
    all: (name) => (Array.isArray(values[name]) ? values[name] : []),
    settings,
    environment,
    signal,
  }
}

function parse(options: Record<string, Option>, args: string[], command: Command) {
  const known = Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) },
    ]),
  )
  try {
    return parseArgs({ args, options: known, allowPositionals: true })
  } catch (error) {
    const sentence = (error as Error).message.split('. ')[0]!
    throw new UsageError(`${sentence}. See "assay ${command.name} --help".`)
  }
}
