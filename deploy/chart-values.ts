/**
 * Makes the schema of the chart's values. It is closed, with the names of the settings as the service knows them. A
 * value for a secret is the name of a Secret.
 */
import { SETTINGS } from '@assay/service/config/config'

/** The settings that the chart sets by itself, from values of its own. */
const SET_BY_CHART = [
  'ROLES',
  'STORE',
  'SECRET_KEY',
  'TOKEN',
  'PUBLIC_URL',
  'JAIL',
  'HOST',
  'PORT',
  'HOME',
  'LINGER',
  'DATA',
]

function namesOf(secret: boolean): string[] {
  const own = new Set(SET_BY_CHART.map((name) => `ASSAY_${name}`))
  return Object.values(SETTINGS)
    .filter((setting) => setting.secret === secret && !own.has(setting.env))
    .map(({ env }) => env)
    .toSorted()
}

const text = (more: object = {}) => ({ type: 'string', ...more })
const name = (more: object = {}) => text({ pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$', ...more })
const optionalName = () => text({ pattern: '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$' })
const keyOf = (pattern = '^[A-Za-z0-9._-]+$') => text({ pattern })
const count = (minimum: number, more: object = {}) => ({ type: 'integer', minimum, ...more })
const flag = { type: 'boolean' }
const texts = { type: 'object', additionalProperties: { type: 'string' } }

const closed = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})

const quantities = {
  type: 'object',
  propertyNames: { enum: ['cpu', 'memory', 'ephemeral-storage'] },
  additionalProperties: text({ pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' }),
}

const nodes = closed({
  replicas: count(1),
  resources: closed({ requests: quantities, limits: quantities }, []),
  autoscaling: closed({
    enabled: flag,
    min: count(1),
    max: count(1),
    cpu: count(1, { maximum: 100 }),
  }),
  disruption: closed({
    enabled: flag,
    maxUnavailable: { anyOf: [count(1), text({ pattern: '^[1-9][0-9]?%$' })] },
  }),
})

const toleration = closed(
  {
    key: text(),
    operator: { enum: ['Exists', 'Equal'] },
    value: text(),
    effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  },
  [],
)

const VALUES = closed({
  image: closed({
    repository: text({ minLength: 1 }),
    tag: text({ pattern: '^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$' }),
    digest: text({ pattern: '^(sha256:[0-9a-f]{64})?$' }),
    pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
  }),
  imagePullSecrets: { type: 'array', items: closed({ name: name() }) },
  publicUrl: text({ pattern: '^https?://[^\\s/?#@]+(/[A-Za-z0-9_][A-Za-z0-9_.~-]*)*/?$' }),
  secret: closed({ name: name(), store: keyOf(), secretKey: keyOf(), token: keyOf('^[A-Za-z0-9._-]*$') }),
  settings: {
    type: 'object',
    propertyNames: { enum: namesOf(false) },
    additionalProperties: { type: ['string', 'number', 'boolean'] },
  },
  secretSettings: {
    type: 'object',
    propertyNames: { enum: namesOf(true) },
    additionalProperties: closed({ name: name(), key: keyOf() }),
  },
  files: closed({ claim: optionalName() }),
  data: closed({ claim: optionalName() }),
  walls: { enum: ['auto', 'require', 'off'] },
  api: nodes,
  worker: nodes,
  dispatcher: nodes,
  service: closed({ port: count(1, { maximum: 65_535 }) }),
  ingress: closed({
    enabled: flag,
    className: optionalName(),
    annotations: texts,
    tlsSecret: optionalName(),
  }),
  podAnnotations: texts,
  nodeSelector: texts,
  tolerations: { type: 'array', items: toleration },
  // Helm gives this value to every chart, for the charts above it.
  global: { type: 'object' },
})

/** Uploads are in one place only. */
const ONE_PLACE = {
  anyOf: [
    { properties: { files: { properties: { claim: { maxLength: 0 } } } } },
    { properties: { settings: { not: { required: ['ASSAY_FILES'] } } } },
  ],
}

export const chartValuesSchema = (): string => {
  const { required, ...rest } = VALUES
  const schema = { ...rest, required: required.filter((one) => one !== 'global'), ...ONE_PLACE }
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values of the chart of Assay', ...schema }, null, 2)}\n`
}
