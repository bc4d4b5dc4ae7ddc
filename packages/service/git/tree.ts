/** Sorts the files of a commit: templates, partials, metrics, tests, schedules, connections. Pure. */
import { isMetricPartial, metricPartial } from '@assay/engine/metrics/names'
import { reachablePartials, templateVersion } from '@assay/engine/reading/partials'
import type { RepositoryFault } from '@assay/model/repository'
import { type Fault, TEMPLATE_ID, type TemplateSource } from '@assay/model/template'

/** The most bytes of a file that is read as text. A longer one takes too long to read. */
const TEXT_MOST = 200_000

export type Texts = Record<string, string>

/** The texts by kind and by path below the folder. */
export interface Parts {
  templates: Texts
  partials: Texts
  metrics: Texts
  tests: Texts
  schedules: Texts
  connections: Texts
}

export interface NamedFile {
  /** The id of a template or a metric, or the name of a partial. */
  name: string
  file: string
  text: string
}

const KINDS: [keyof Parts, RegExp][] = [
  ['tests', /^[^/]+\.test\.yaml$/],
  ['templates', /^(?!readme\.md$)[^/]+\.md$/i],
  ['partials', /^partials\/[^/]+\.md$/],
  ['metrics', /^metrics\/[^/]+\.yaml$/],
  ['schedules', /^schedules\/[^/]+\.yaml$/],
  ['connections', /^connections\/[^/]+\.yaml$/],
]

export function kindOf(file: string): keyof Parts | null {
  return KINDS.find(([, shape]) => shape.test(file))?.[0] ?? null
}

export function fault(
  file: string,
  message: string,
  { code = 'file', line = 0, column = 0 }: Partial<Pick<RepositoryFault, 'code' | 'line' | 'column'>> = {},
): RepositoryFault {
  return { file, line, column, code, message, severity: 'error' }
}

/** Places a fault of a template, or of a partial that it includes, in the repository. */
export function placed(file: string, { partial, ...one }: Fault): RepositoryFault {
  const { line, column, code, message, remedy, severity } = one
  const at = partial === null ? file : isMetricPartial(partial) ? partial : `partials/${partial}.md`
  return { file: at, line, column, code, message: `${message} ${remedy}`.trimEnd(), severity }
}

const noParts = (): Parts => ({
  templates: {},
  partials: {},
  metrics: {},
  tests: {},
  schedules: {},
  connections: {},
})

/** Returns the texts of the commit, and a fault for each file that is not text. */
export function partsOf(files: ReadonlyMap<string, Uint8Array>): { parts: Parts; faults: RepositoryFault[] } {
  const parts: Parts = noParts()
  const faults: RepositoryFault[] = []
  for (const [file, bytes] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const kind = kindOf(file)
    if (kind === null) continue
    if (bytes.length > TEXT_MOST)
      faults.push(
        fault(file, `The file has ${bytes.length} bytes; at most ${TEXT_MOST} are read: divide it.`),
      )
    else
      try {
        parts[kind][file] = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
      } catch {
        faults.push(fault(file, 'The file is not UTF-8: save it so.'))
      }
  }
  return { parts, faults }
}

/** Sorts stored texts by kind. */
export function partsOfTexts(texts: Texts): Parts {
  const parts: Parts = noParts()
  for (const [file, text] of Object.entries(texts)) {
    const kind = kindOf(file)
    if (kind !== null) parts[kind][file] = text
  }
  return parts
}

const baseName = (file: string, ending: string): string =>
  file.slice(file.lastIndexOf('/') + 1, -ending.length)

export const metricsOf = ({ metrics }: Parts): NamedFile[] =>
  Object.entries(metrics).map(([file, text]) => ({ name: baseName(file, '.yaml'), file, text }))

/** Returns the files of schedules or of connections. */
export const settingsOf = (texts: Texts): NamedFile[] =>
  Object.entries(texts).map(([file, text]) => ({ name: baseName(file, '.yaml'), file, text }))

/** Returns the partials of the commit, by name. */
export function partialsOf(parts: Parts): Texts {
  return Object.fromEntries([
    ...Object.entries(parts.partials).map(([file, text]) => [baseName(file, '.md'), text]),
    ...metricsOf(parts).map(({ name, text }) => [metricPartial(name), text]),
  ]) as Texts
}

/** Returns a template with the partials that it can reach. */
export function withPartials(template_id: string, source: string, partials: Texts): TemplateSource {
  const reached = reachablePartials(source, partials)
  return { template_id, version: templateVersion(source, reached), source, partials: reached }
}

/** Returns the templates of the commit, each with the partials that it can reach. */
export function templatesOf(parts: Parts): { file: string; source: TemplateSource }[] {
  const partials = partialsOf(parts)
  return Object.entries(parts.templates).map(([file, source]) => ({
    file,
    source: withPartials(baseName(file, '.md'), source, partials),
  }))
}

/** Returns the faults of names. They are found before any file is read. */
export function nameFaults(parts: Parts): RepositoryFault[] {
  const id = new RegExp(TEMPLATE_ID)
  return Object.keys(parts.templates)
    .filter((file) => !id.test(baseName(file, '.md')))
    .map((file) =>
      fault(
        file,
        'The name of the file is the id of the template: it has lower-case letters, digits, "-" and "_" only.',
      ),
    )
}
