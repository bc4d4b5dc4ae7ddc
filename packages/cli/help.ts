/** Makes the help from the table of commands. */
import { flagOf, SETTINGS, type SettingName } from '@assay/service/config/config'
import type { Command, Option } from './command.ts'

function columns(rows: [string, string][]): string {
  const width = Math.min(34, Math.max(...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}

function optionRow([name, option]: [string, Option]): [string, string] {
  const short = option.short ? `-${option.short}, ` : ''
  return [`${short}--${name}${option.type === 'string' ? ` ${option.value ?? 'VALUE'}` : ''}`, option.doc]
}

export function overview(commands: readonly Command[], version: string): string {
  const rows = commands.map(({ name, operands, summary }): [string, string] => [
    operands ? `${name} ${operands}` : name,
    summary,
  ])
  return (
    `assay ${version}: analysis jobs from Markdown templates, insights over HTTP and webhooks.\n\n` +
    `usage: assay COMMAND [OPERAND...] [--OPTION VALUE...]\n\n${columns(rows)}\n` +
    `"assay COMMAND --help" says more. Every setting ("assay config") is a flag of every command, too.\n` +
    'Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 69 unavailable, 77 not allowed, 78 settings.\n'
  )
}

/** Returns the help of the commands whose name starts with the given word. */
export function groupHelp(commands: readonly Command[]): string {
  return columns(
    commands.map(({ name, operands, summary }) => [
      `assay ${name}${operands ? ` ${operands}` : ''}`,
      summary,
    ]),
  )
}

export function commandHelp(command: Command): string {
  const usage = `usage: assay ${command.name}${command.operands ? ` ${command.operands}` : ''} [--OPTION VALUE...]`
  const own = Object.entries(command.options)
  const options = own.length > 0 ? `\noptions:\n${columns(own.map(optionRow))}` : ''
  const details = command.details ? `\n${command.details}\n` : ''
  return `${usage}\n\n${command.summary}.\n${details}${options}\n${settingsHelp(command)}`
}

function settingsHelp(command: Command): string {
  if (command.name !== 'serve' && command.name !== 'config')
    return 'The settings of "assay config" are flags, too: --home, --store, --data, ...\n'
  const rows = (Object.keys(SETTINGS) as SettingName[]).map((name): [string, string] => [
    `${flagOf(name)} (${SETTINGS[name].env})`,
    `${SETTINGS[name].doc}${SETTINGS[name].fallback ? ` [${SETTINGS[name].fallback}]` : ''}`,
  ])
  return `settings, as flags or in the environment:\n${columns(rows)}`
}
