import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, describeConfig, resolveConfig } from './config.ts'

function faultsOf(environment: NodeJS.ProcessEnv): string[] {
  try {
    resolveConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n')
  }
}

test('lets a flag win over the environment, and that over the default, and says where each came from', () => {
  const { config, origin } = resolveConfig({ ASSAY_PORT: '1', ASSAY_HOST: '::1' }, { port: '2' })
  assert.deepEqual([config.port, config.host, config.logLevel], [2, '::1', 'info'])
  assert.deepEqual([origin.port, origin.host, origin.logLevel], ['flag', 'environment', 'default'])
  assert.equal(resolveConfig({ ASSAY_PORT: '' }).config.port, 8080)
})

test('tells every bad value at once, by the name that bore it', () => {
  const faults = faultsOf({
    ASSAY_PORT: '80800',
    ASSAY_ROLES: 'api,cook',
    ASSAY_TRUST_PROXY: 'yes',
    ASSAY_MAX_TIMEOUT: '5 minutes',
    ASSAY_SECRET_KEY: 'geheim',
  })
  assert.deepEqual(
    faults.map((fault) => fault.split(':')[0]),
    ['ASSAY_PORT', 'ASSAY_ROLES', 'ASSAY_TRUST_PROXY', 'ASSAY_SECRET_KEY', 'ASSAY_MAX_TIMEOUT'],
  )
  assert.equal(
    faults[2],
    'ASSAY_TRUST_PROXY: "yes" is not usable, it must be true, false, or addresses of proxies such as 10.0.0.0/8,fd00::/8 (not "yes").',
  )
  assert.doesNotMatch(faults.join(), /geheim/)
})

test('refuses a setting that there is not, and says so where Kubernetes made it', () => {
  assert.deepEqual(faultsOf({ ASSAY_PROT: '1', PATH: '/bin' }), [
    'ASSAY_PROT: there is no such setting; "assay config --help" lists those that there are.',
  ])
  for (const variable of ['ASSAY_SERVICE_HOST', 'ASSAY_PORT_8080_TCP_ADDR'])
    assert.match(faultsOf({ [variable]: '10.0.0.1' })[0]!, /enableServiceLinks: false/)
})

test('shows no secret, and of a store its address without the password', () => {
  const shown = describeConfig(
    resolveConfig({
      ASSAY_TOKEN: 'a-token-of-sixteen',
      ASSAY_STORE: 'postgres://ada:hid@den@db.example,other.example/assay?password=hidden',
      ASSAY_SECRET_KEY: 'ab'.repeat(32),
    }),
  )
  const value = (env: string) => shown.find((row) => row.env === env)?.value
  assert.equal(value('ASSAY_TOKEN'), '••••')
  assert.equal(value('ASSAY_SECRET_KEY'), '••••')
  assert.equal(value('ASSAY_STORE'), 'postgres://••••@db.example,other.example/assay?password=••••')
})

test('an address that is refused is shown without its password', () => {
  const [fault] = faultsOf({ ASSAY_TRACES: 'http://ada:hidden@collector:4318' })
  assert.match(
    fault!,
    /^ASSAY_TRACES: "http:\/\/••••@collector:4318" is not usable, it must hold no password/,
  )
})

test('says where traces go and with which headers', () => {
  const traces = (ASSAY_TRACES: string): string | null => resolveConfig({ ASSAY_TRACES }).config.traces
  assert.equal(traces(''), null)
  for (const given of [
    'http://c:4318',
    'http://c:4318/',
    'http://c:4318/v1/traces',
    'http://c:4318/v1/traces/',
  ])
    assert.equal(traces(given), 'http://c:4318/v1/traces')
  assert.equal(traces('https://c/otlp'), 'https://c/otlp/v1/traces')
  for (const given of ['c:4318', 'ftp://c', 'http://c/?key=1'])
    assert.equal(faultsOf({ ASSAY_TRACES: given }).length, 1)
  const headers = (ASSAY_TRACES_HEADERS: string) =>
    resolveConfig({ ASSAY_TRACES: 'http://c:4318', ASSAY_TRACES_HEADERS }).config.tracesHeaders
  assert.deepEqual(headers(''), {})
  assert.deepEqual(headers('Authorization=Bearer%20abc%3D%3D, x-team=a=7 '), {
    authorization: 'Bearer abc==',
    'x-team': 'a=7',
  })
  for (const given of ['a', '=b', 'a=', 'a=%', 'a=%0a', 'a b=c', 'a=b,']) {
    const faults = faultsOf({ ASSAY_TRACES_HEADERS: given })
    assert.match(
      faults.join(),
      /^ASSAY_TRACES_HEADERS: its value is not usable, it must be NAME=VALUE/,
      given,
    )
  }
})
