/**
 * Shows how an upload is read, each reading with how sure it is, and the choices that are left: the sheet of a
 * workbook, columns of two readings, and columns that are read in the usual way. Each choice begins a report with its
 * line.
 */
import type { NewFile } from '@assay/client'
import { Link } from '@tanstack/react-router'
import { type Choice, likelyChoices, readingLines } from './reading-lines.ts'

function choicesOf({ dialect, readings }: NewFile): Choice[] {
  const asked = readings.flatMap(({ name, doubt }) =>
    doubt && doubt.readings.length > 0
      ? [{ of: name, says: doubt.says, readings: lineOf(name, doubt.readings) }]
      : [],
  )
  const likely = likelyChoices(readings).map(({ of, says, readings: others }) => ({
    of,
    says,
    readings: lineOf(of, others),
  }))
  const sheet = dialect?.sheet
  if (sheet?.sure !== 'likely') return [...asked, ...likely]
  const sheets = [sheet.is, ...sheet.others].map((name) => ({
    as: name,
    write: `sheet: ${JSON.stringify(name)}`,
  }))
  const says = `“${sheet.is}” was read, the first of ${sheets.length}. Choose the sheet of a report:`
  return [{ of: 'Sheets', says, readings: sheets }, ...asked, ...likely]
}

/** Returns the line below its own column, so that it does not apply to others. */
function lineOf(name: string, readings: Choice['readings']): Choice['readings'] {
  return readings.map(({ as, write }) => ({
    as,
    write: `columns: { ${JSON.stringify(name)}: { ${write} } }`,
  }))
}

export function ReadingNotes({ file }: { file: NewFile }) {
  const lines = readingLines(file)
  return (
    <>
      {lines.length > 0 && (
        <ul className="small" aria-label={`How ${file.path} is read`}>
          {lines.map(({ of, is, sure }) => (
            <li key={`${of} ${is}`}>
              <strong>{of}</strong>: {is}
              {sure !== null && <em> ({sure})</em>}
            </li>
          ))}
        </ul>
      )}
      <Choices file={file} choices={choicesOf(file)} />
    </>
  )
}

function Choices({ file, choices }: { file: NewFile; choices: readonly Choice[] }) {
  if (choices.length === 0) return null
  return (
    <ul className="small" aria-label={`Choices of ${file.path}`}>
      {choices.map(({ of, says, readings }) => (
        <li key={of}>
          <strong>{of}</strong>: {says}
          <div className="actions">
            {readings.map(({ as, write }) => (
              <Link
                key={write}
                className="button small"
                to="/templates/new"
                search={{ file: file.file, lines: write }}
                state={{ keep: write }}
                aria-label={`Make a report with ${of} as ${as}`}
              >
                {as}
              </Link>
            ))}
          </div>
        </li>
      ))}
    </ul>
  )
}
