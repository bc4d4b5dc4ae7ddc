/** Reads a template from a file on this machine, with the partials beside it, and the data that it may read here. */
import { readdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { connectionsOf } from '@assay/engine/reading/lookup'
import { type Parsed, parseTemplate } from '@assay/engine/reading/parse'
import { reachablePartials, templateVersion } from '@assay/engine/reading/partials'
import type { ConnectionAccess } from '@assay/engine/run/connection-requests'
import type { Roots } from '@assay/engine/run/protocol'
import type { TemplateSource } from '@assay/model/template'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { type Config, ConfigError } from '@assay/service/config/config'
import type { ConnectionRegistry } from '@assay/service/connections/connection-registry'
import { readText } from './commands/local/text-file.ts'
import { EXIT, ExitError } from './exit.ts'

const TEMPLATE_ENDING = '.md'
const METRIC_ENDING = '.yaml'

/**
 * Returns the texts of a folder beside a template, by name without ending. A template may come from a stranger, so a
 * link in its folder must not bring in another file of this machine. Throws ExitError for a link that leaves the
 * template's folder.
 */
async function readBeside(template: string, folder: string, ending: string): Promise<Record<string, string>> {
  const own = path.join(template, folder)
  const names = (await readdir(own).catch(() => [])).filter((name) => name.endsWith(ending)).toSorted()
  const within = await realpath(template).catch(() => template)
  const texts = names.map(async (name) => {
    const file = path.join(own, name)
    const real = await realpath(file).catch(() => file)
    if (path.relative(within, real).startsWith('..'))
      throw new ExitError(
        EXIT.failed,
        `${file} is a link to a file outside of ${template}: put a copy of that file there.`,
      )
    return [path.basename(name, ending), await readText(real)]
  })
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>
}

/**
 * Returns the definitions in `metrics/` of the folders and the shipped ones, as partials of a template. An earlier
 * folder wins.
 */
export async function readMetrics(folders: readonly string[]): Promise<Record<string, string>> {
  const { createCatalog } = await import('@assay/engine/reading/catalog')
  const { templatesFolder } = await import('@assay/engine/reading/samples')
  const { metricPartial } = await import('@assay/engine/metrics/names')
  const shipped = createCatalog({ shipped: templatesFolder, folders: [] }).metrics()
  const partials = Object.fromEntries(
    shipped.map(({ view, source }) => [metricPartial(view.metric_id), source]),
  )
  // Metrics of any folder win over the shipped ones, even for a shipped template.
  for (const folder of folders.filter((one) => path.resolve(one) !== templatesFolder).toReversed()) {
    const own = await readBeside(folder, 'metrics', METRIC_ENDING)
    for (const [name, text] of Object.entries(own)) partials[metricPartial(name)] = text
  }
  return partials
}

/**
 * Reads a template with its metrics: those beside it, then those of `folders`, then the shipped ones. Throws ExitError
 * if the file cannot be read.
 */
export async function readTemplate(
  file: string,
  folders: readonly string[],
): Promise<{ source: TemplateSource; parsed: Parsed }> {
  const text = await readText(file)
  const folder = path.dirname(file)
  const all = {
    ...(await readBeside(folder, 'partials', TEMPLATE_ENDING)),
    ...(await readMetrics([folder, ...folders])),
  }
  const partials = reachablePartials(text, all)
  const template_id = path.basename(file, TEMPLATE_ENDING)
  // The parser gets all metrics, so that a fault can name the nearest one.
  const parsed = parseTemplate({ template_id, source: text, partials: all })
  return { source: { template_id, version: templateVersion(text, partials), source: text, partials }, parsed }
}

/**
 * Returns the data that a template may read here: the sample data, the data folder, and the uploads of the default
 * workspace.
 */
export async function localRoots(config: Config): Promise<Roots> {
  const { sampleFiles } = await import('@assay/engine/reading/samples')
  const { openFiles } = await import('@assay/service/files/open')
  const files = await openFiles(config)
  const own = await files.roots(DEFAULT_WORKSPACE, true)
  await files.close()
  return { sample: sampleFiles(), data: config.data, ...own }
}

/** Returns the connections of the file that ASSAY_CONNECTIONS names. Throws ConfigError. */
export async function localBook(config: Config, environment: NodeJS.ProcessEnv): Promise<ConnectionRegistry> {
  const { openConnections } = await import('@assay/service/connections/connection-registry')
  const { SettingsFault } = await import('@assay/service/connections/settings-file')
  const { connections: file, connectionTargets: targets } = config
  return openConnections({ store: null, secrets: null, file, targets, environment }).catch(
    (error: unknown) => {
      if (!(error instanceof SettingsFault)) throw error
      throw new ConfigError(`ASSAY_CONNECTIONS: ${error.message}`, { cause: error })
    },
  )
}

/** Returns the connections that a template on this machine names. Throws ConfigError. */
export async function localConnections(
  config: Config,
  environment: NodeJS.ProcessEnv,
  template: TemplateSource,
): Promise<ConnectionAccess> {
  const book = await localBook(config, environment)
  return book.accessFor({ workspace_id: DEFAULT_WORKSPACE, names: async () => connectionsOf(template) })
}
