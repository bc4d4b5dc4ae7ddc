/** Reads the schedules and connections of a commit: their faults, and the rows for the store. */
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { readYaml, type YamlReading } from '@assay/engine/reading/yaml-reading'
import { iso } from '@assay/model/clock'
import { CONNECTION_NAME } from '@assay/model/connection'
import { CONNECTION_KINDS, type ConnectionKind, readLimits, readOptions } from '@assay/model/connection-kinds'
import { AppError, type FieldError } from '@assay/model/errors'
import type { RepositoryConnection, RepositoryFault, RepositorySchedule } from '@assay/model/repository'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { addressFaults } from '../api/connections/connections.ts'
import { validator } from '../api/http/validate.ts'
import { faultsOf, newSchedule, ScheduleInput } from '../api/schedules/schedule-input.ts'
import { checkReaders } from '../api/schedules/schedule-readers.ts'
import { subscriptionsOf } from '../api/subscriptions/notify.ts'
import { ADMIN_USER } from '../app/accounts.ts'
import { findTemplate } from '../templates/find-template.ts'
import type { Judging } from './judging.ts'
import { fault, type NamedFile, type Parts, placed, settingsOf } from './tree.ts'

/** The owner of the schedules and connections. */
export const OWNER = { workspace_id: DEFAULT_WORKSPACE, user_id: ADMIN_USER }

export interface Settings {
  schedules: Record<string, RepositorySchedule>
  connections: Record<string, RepositoryConnection>
}

type Entries = Record<string, unknown>

const isMap = (value: unknown): value is Entries =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Places faults at the lines of their fields. */
function atFields({ file }: NamedFile, yaml: YamlReading, errors: readonly FieldError[]): RepositoryFault[] {
  return errors.map(({ path, message }) => {
    const { line, column } = yaml.position(path === '' ? [] : path.split('.'))
    return fault(file, `${path} ${message}`.trim(), { code: 'bad_value', line, column })
  })
}

/** Returns the map in a file. Adds to `faults` if the file holds no map. */
function mapOf(file: NamedFile): { yaml: YamlReading; map: Entries; faults: RepositoryFault[] } {
  const yaml = readYaml(file.text, 1)
  const faults = yaml.faults.map((one) => placed(file.file, one))
  const map = isMap(yaml.value) ? yaml.value : {}
  if (faults.length === 0 && !isMap(yaml.value))
    faults.push(fault(file.file, 'The file must be a map of keys.'))
  return { yaml, map, faults }
}

const KEYS = ['kind', 'description', 'options', 'limits']

async function connectionOf(
  given: NamedFile,
  judging: Judging,
): Promise<{ connection: RepositoryConnection | null; faults: RepositoryFault[] }> {
  const { yaml, map, faults } = mapOf(given)
  if (faults.length > 0) return { connection: null, faults }
  const errors: FieldError[] = []
  const refuse = (path: string, message: string): void => void errors.push({ path, message })
  if (!new RegExp(CONNECTION_NAME).test(given.name))
    refuse(
      '',
      'The name of the file is that of the connection: lower-case letters, digits, "-" and "_", a letter first.',
    )
  for (const key of Object.keys(map))
    if (key === 'secrets')
      refuse(
        key,
        `are not kept in a repository: give them by the API or the console once the commit is taken`,
      )
    else if (!KEYS.includes(key)) refuse(key, `is not a key; the keys are ${KEYS.join(', ')}`)
  const kind = map.kind as ConnectionKind
  if (!CONNECTION_KINDS.includes(kind)) refuse('kind', `must be one of ${CONNECTION_KINDS.join(', ')}`)
  const { description = null, options = {}, limits = {} } = map
  if (description !== null && typeof description !== 'string') refuse('description', 'must be text')
  for (const [key, value] of Object.entries({ options, limits }))
    if (!isMap(value)) refuse(key, 'must be a map')
  if (errors.length > 0) return { connection: null, faults: atFields(given, yaml, errors) }
  const read = readOptions(kind, options as Entries)
  const bounds = readLimits(limits as Entries)
  errors.push(...read.errors, ...bounds.errors, ...addressFaults(judging, DEFAULT_WORKSPACE, read.options))
  if (errors.length > 0) return { connection: null, faults: atFields(given, yaml, errors) }
  const owned = judging.owned.connections.includes(given.name)
  if (!owned && (await judging.store.getConnection({ workspace_id: DEFAULT_WORKSPACE, name: given.name })))
    faults.push({
      ...fault(
        given.file,
        'There is a connection of this name by the API, which stays: delete it, or rename the file.',
      ),
      severity: 'warning',
    })
  const connection = {
    kind,
    description: description as string | null,
    options: read.options,
    limits: bounds.limits,
  }
  return { connection, faults }
}

const checkInput = validator(ScheduleInput)

/**
 * Returns the template of a schedule: that of the commit, or else a shipped one or one put by the API. Throws if it
 * cannot be read.
 */
async function templateOf(
  template_id: string,
  commit: ReadonlyMap<string, FoundTemplate>,
  judging: Judging,
): Promise<FoundTemplate | null> {
  const own = commit.get(template_id)
  if (own) return own
  const found = await findTemplate(judging, { workspace_id: DEFAULT_WORKSPACE, template_id })
  return found && !('faults' in found) ? found : null
}

/** Returns the faults of an AppError. Throws every other error. */
function errorsOf(error: unknown): readonly FieldError[] {
  if (!(error instanceof AppError)) throw error
  if (error.code === 'reader_missing') return [{ path: 'template_id', message: NO_READERS }]
  if (!error.errors) throw error
  return error.errors
}

const NO_READERS =
  'names a personal template, which shows each reader rows of their own: write "readers: all", a list of their ids, or those who have an attribute, as in "readers: { where: { region: north } }"'

async function scheduleOf(
  given: NamedFile,
  commit: ReadonlyMap<string, FoundTemplate>,
  judging: Judging,
): Promise<{ schedule: RepositorySchedule | null; faults: RepositoryFault[] }> {
  const { yaml, map, faults } = mapOf(given)
  if (faults.length > 0) return { schedule: null, faults }
  const refuse = (errors: readonly FieldError[]) => ({
    schedule: null,
    faults: atFields(given, yaml, errors),
  })
  const { value, faults: errors } = checkInput({ name: given.name, ...map }, '')
  if (errors.length > 0) return refuse(errors)
  const input = value as ScheduleInput
  const made = newSchedule(input, '', OWNER)
  const timing = faultsOf(made, iso(judging.clock.now()), null)
  if (timing.length > 0) return refuse(timing)
  const template = await templateOf(made.template_id, commit, judging)
  if (!template)
    return refuse([
      {
        path: 'template_id',
        message: `names no template that can be used: ${JSON.stringify(made.template_id)}`,
      },
    ])
  let notify: string[] | null
  try {
    notify = await subscriptionsOf(judging, OWNER, input.notify, 'notify')
    await checkReaders(judging.store, { ...made, notify }, template)
  } catch (error) {
    return refuse(errorsOf(error))
  }
  const [converted] = await judging.templates.convert(template, [made.variables], DEFAULT_WORKSPACE)
  if (converted!.errors.length > 0)
    return refuse(
      converted!.errors.map(({ path, message }) => ({ path: path.replace(/^payload\./, ''), message })),
    )
  const { schedule_id: _id, workspace_id: _workspace, user_id: _user, ...rest } = made
  return { schedule: { ...rest, notify, readers: made.readers ?? null }, faults: [] }
}

/** Reads the settings of a commit. `commit`: the templates of the commit by id. */
export async function judgeSettings(
  parts: Parts,
  commit: ReadonlyMap<string, FoundTemplate>,
  judging: Judging,
): Promise<Settings & { faults: RepositoryFault[] }> {
  const settings: Settings = { schedules: {}, connections: {} }
  const faults: RepositoryFault[] = []
  for (const given of settingsOf(parts.connections)) {
    if (judging.connections.readOnly) {
      faults.push(
        fault(given.file, 'The connections come from the file that ASSAY_CONNECTIONS names: write it there.'),
      )
      continue
    }
    const { connection, faults: found } = await connectionOf(given, judging)
    faults.push(...found)
    if (connection) settings.connections[given.name] = connection
  }
  for (const given of settingsOf(parts.schedules)) {
    const { schedule, faults: found } = await scheduleOf(given, commit, judging)
    faults.push(...found)
    if (schedule) settings.schedules[given.name] = schedule
  }
  return { ...settings, faults }
}
