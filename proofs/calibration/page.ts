/** docs/calibration.md: parts that begin with their title and are written by themselves. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export const PAGE = path.join(import.meta.dirname, '..', '..', 'docs', 'calibration.md')

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

/** Puts a part in place of the one with the same title, else at the end. */
export function writePart(part: readonly string[]): void {
  const parts = readFileSync(PAGE, 'utf8').split(/^(?=## )/mu)
  const place = parts.findIndex((one) => one.startsWith(`${part[0]}\n`))
  const next = `${part.join('\n')}\n`
  if (place >= 0) parts[place] = next
  else parts.push(`\n${next}`)
  writeFileSync(
    PAGE,
    `${parts
      .join('')
      .trimEnd()
      .replaceAll(/\n{3,}/gu, '\n\n')}\n`,
  )
}
