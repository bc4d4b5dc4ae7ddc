/** Checks that settings with impossible values are refused, each with its sentence. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { ConfigError, resolveConfig } from './config.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-settings-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const PG = 'postgres://ada:hidden-word@db/assay'
const KEY = 'ab'.repeat(32)
const DURATION = /must be a duration such as 500ms, 60s, 5m, 2h or 30d/
const KEPT = /must be from 1s to 36500d/
const SIZE = /must be a size such as 512MB, 1GB or 2GiB/
const FRAMES = /must list origins such as https:\/\/intranet\.example/
const TARGETS = /must list public, loopback, private, ranges such as 10\.0\.0\.0\/8, addresses or host names/
const ADDRESS = /must be an http or https address without a query/
const PROXIES = /must be true, false, or addresses of proxies such as 10\.0\.0\.0\/8/
const MAIL = /must be smtp:\/\/USER:PASSWORD@HOST:PORT or smtps:/

const PROVIDER = {
  OIDC_ISSUER: 'https://login.example.com',
  OIDC_CLIENT_ID: 'assay',
  OIDC_GROUPS: '*=default:viewer',
  PUBLIC_URL: 'https://assay.example',
}

/** Rows of the variable, its value, the expected sentence, and further variables. */
const WRONG: [string, string, RegExp, Record<string, string>?][] = [
  [
    'HOST',
    'http://localhost',
    /must be an address or a name of this machine, without http:\/\/ and without a port/,
  ],
  ['HOST', 'localhost:8080', /without a port/],
  ['HOST', 'my host', /must be an address or a name/],
  ['PORT', '-1', /must be a whole number from 0 to 65535/],
  ['PORT', '65536', /from 0 to 65535/],
  ['PORT', '80.5', /from 0 to 65535/],
  ['PORT', 'http', /from 0 to 65535/],
  ['PORT', '0x50', /from 0 to 65535/],
  ['STORE', 'mysql://db/assay', /must be sqlite:PATH or postgres:\/\/USER:PASSWORD@HOST\/DATABASE/],
  ['STORE', 'sqlite:', /must be sqlite:PATH/],
  ['STORE', '/var/lib/assay.db', /must be sqlite:PATH/],
  ['STORE', 'postgres:db', /must be sqlite:PATH/],
  ['STORE', 'postgres://db', /must name the database/],
  ['STORE', 'postgres://db/', /must name the database/],
  ['STORE', 'postgres://a,,b/assay', /must name each server, with commas between/],
  ['STORE', 'postgres://a:5432,b:port/assay', /can be read/],
  [
    'STORE',
    'postgres://a,b/assay?target_session_attrs=standby',
    /read-write or primary, because the service writes/,
  ],
  ['STORE', 'postgres://ada:per%cent@db/assay', /percent-encode the password/],
  ['STORE', 'postgres://ada:ha#sh@db/assay', /percent-encode the password|no "#"/],
  ['STORE', 'postgres://db:port/assay', /can be read/],
  ['STORE', `${PG}?sslmode=on`, /sslmode of disable, prefer, require, verify-ca, verify-full/],
  ['STORE', `${PG}?sslmode=verify-ca`, /sslrootcert, which sslmode=verify-ca requires/],
  ['STORE', `${PG}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`, /must name a file in sslrootcert/],
  ['STORE', `${PG}?sslcert=/nowhere/client.pem`, /must name a file in sslcert/],
  ['STORE', `${PG}?sslkey=/nowhere/client.key`, /must name a file in sslkey/],
  ['STORE_CONNECTIONS', '3', /from 4 to 200/],
  ['STORE_CONNECTIONS', '1000', /from 4 to 200/],
  ['TOKEN', 'short', /must be 16 to 512 visible characters/],
  ['TOKEN', 'with white space inside', /visible characters/],
  ['OIDC_ISSUER', 'login.example.com', /must be an https address/],
  ['OIDC_ISSUER', 'https://a.example/.well-known/openid-configuration', /must be the issuer alone/],
  ['OIDC_ISSUER', 'http://login.example.com', /use https: by http anyone on the way/, PROVIDER],
  ['OIDC_ISSUER', 'https://login.microsoftonline.com/common/v2.0', /must name your tenant/],
  ['OIDC_ISSUER', 'https://login.microsoftonline.us/organizations/v2.0', /must name your tenant/],
  ['OIDC_CLIENT_ID', '', /set the id that the provider gave Assay/, PROVIDER],
  ['OIDC_CLIENT_ID', 'assay', /set ASSAY_OIDC_ISSUER/],
  ['OIDC_CLIENT_SECRET', 'hidden-word', /set ASSAY_OIDC_ISSUER/],
  ['OIDC_NAME', 'Acme', /set ASSAY_OIDC_ISSUER/],
  ['OIDC_SCOPES', 'profile', /must hold openid/],
  ['OIDC_GROUPS_CLAIM', 'my groups', /the name of a claim, without white space/],
  ['OIDC_GROUPS', 'staff', /must list GROUP=WORKSPACE:SCOPE/, PROVIDER],
  ['OIDC_GROUPS', 'staff=default:owner', /a scope of viewer, analyst, publisher, admin/, PROVIDER],
  ['OIDC_GROUPS', 'staff=default:admin;staff=default:viewer', /each group once/, PROVIDER],
  ['OIDC_GROUPS', '*=default:admin;staff=default:viewer', /must name \* last/, PROVIDER],
  ['OIDC_GROUPS', '', /say what each group may do/, PROVIDER],
  ['PUBLIC_URL', '', /sends them back there/, PROVIDER],
  ['PASSWORD_LOGIN', 'no', /must be one of on, off/],
  ['PASSWORD_LOGIN', 'off', /set ASSAY_OIDC_ISSUER/],
  ['FILES', 's3:bucket', /must be a folder or s3:\/\/BUCKET\/PREFIX/],
  ['FILES', 's3://', /s3:\/\/BUCKET\/PREFIX/],
  ['FILES', 's3://My_Bucket', /s3:\/\/BUCKET\/PREFIX/],
  ['FILES', 's3://b/uploads', /with a bucket of 3 to 63 small letters/],
  ['FILES_ENDPOINT', 'minio:9000', ADDRESS],
  ['FILES_ENDPOINT', 'http://minio:9000', /set ASSAY_FILES to s3:\/\/BUCKET\/PREFIX, or leave this out/],
  ['FILES_ACCESS_KEY', 'AKIA', /set ASSAY_FILES to s3/],
  ['FILES_SECRET_KEY', 'hidden-word', /set ASSAY_FILES to s3/],
  [
    'FILES_ACCESS_KEY',
    '',
    /set the id of the key to the bucket/,
    { FILES: 's3://bucket', FILES_SECRET_KEY: 'x' },
  ],
  ['FILES_SECRET_KEY', '', /set the key to the bucket/, { FILES: 's3://bucket', FILES_ACCESS_KEY: 'x' }],
  ['FILES_REGION', 'eu central', /must be the name of a region/],
  ['FILES_REGION', 'EU', /must be the name of a region/],
  ['MAX_FILE', 'much', SIZE],
  ['MAX_FILE', '0', SIZE],
  ['MAX_FILE', '0B', /must be at least 1KB/],
  ['MAX_FILE', '-1GB', SIZE],
  ['MAX_FILE', '9999999TB', /below 9000TB/],
  ['FILES_QUOTA', '0GB', /must be at least 1KB/],
  ['FILES_QUOTA', '1GB', /at least as much as ASSAY_MAX_FILE/],
  ['SOURCE_TARGETS', 'all hosts', TARGETS],
  ['SOURCE_TARGETS', '10.0.0.0/40', TARGETS],
  ['SOURCE_TARGETS', 'https://example.com', TARGETS],
  ['SOURCE_CACHE', '5 apples', SIZE],
  ['SOURCE_CACHE', '0MB', /must be at least 1KB/],
  ['ROLES', 'api,cook', /must be one of api, worker, dispatcher/],
  ['ROLES', 'api,', /must be one of/],
  ['ROLES', 'api,api', /must name each role once/],
  ['ROLES', 'API', /must be one of/],
  ['WORKERS', '0', /from 1 to 256/],
  ['WORKERS', 'all', /from 1 to 256/],
  ['CORS_ORIGINS', 'app.example', FRAMES],
  ['CORS_ORIGINS', 'https://app.example,*', FRAMES],
  ['FRAME_PARENTS', "'self'", FRAMES],
  ['FRAME_PARENTS', 'https://a.example; script-src *', FRAMES],
  ['WEBHOOK_TARGETS', 'public,*', TARGETS],
  ['WEBHOOK_TARGETS', '*.', TARGETS],
  ['WEBHOOK_TARGETS', 'hooks.example:99999', TARGETS],
  ['CONNECTION_TARGETS', 'db internal', TARGETS],
  ['CONNECTION_TARGETS', '::1/200', TARGETS],
  ['PUBLIC_URL', 'assay.example.com', ADDRESS],
  ['PUBLIC_URL', 'ftp://assay.example.com', ADDRESS],
  ['PUBLIC_URL', 'https://assay.example.com/?a=1', ADDRESS],
  ['PUBLIC_URL', 'https://example.com/my assay', /write a path of letters, digits/],
  ['PUBLIC_URL', 'https://example.com/a//b', /write a path of letters, digits/],
  ['PUBLIC_URL', 'https://example.com/docs/assay', /choose a path that begins otherwise, such as \/assay/],
  ['PUBLIC_URL', 'https://ada:hidden-word@assay.example.com', /must hold no name and no password/],
  ['SMTP_URL', 'mail.example.com', MAIL, { MAIL_FROM: 'a@example.com' }],
  ['SMTP_URL', 'http://mail.example.com', MAIL, { MAIL_FROM: 'a@example.com' }],
  ['SMTP_URL', 'smtp://', MAIL, { MAIL_FROM: 'a@example.com' }],
  ['SMTP_URL', 'smtp://mail.example.com/inbox', MAIL, { MAIL_FROM: 'a@example.com' }],
  ['SMTP_URL', 'smtps://mail.example.com?tls=off', /with smtp: only/, { MAIL_FROM: 'a@example.com' }],
  ['SMTP_URL', 'smtp://mail.example.com?tls=maybe', /may end in \?tls=off/, { MAIL_FROM: 'a@example.com' }],
  ['MAIL_FROM', '', /set the address of the sender/, { SMTP_URL: 'smtp://mail.example.com' }],
  ['MAIL_FROM', 'assay@example.com', /set ASSAY_SMTP_URL to the mail server/],
  ['MAIL_FROM', 'Assay', /must be an address such as assay@example\.com/],
  ['NARRATE_URL', 'model:11434', ADDRESS, { NARRATE_MODEL: 'm' }],
  ['NARRATE_MODEL', '', /set the model to ask/, { NARRATE_URL: 'http://model:11434/v1' }],
  ['NARRATE_MODEL', 'm', /set ASSAY_NARRATE_URL to the endpoint of the model/],
  ['NARRATE_MODEL', 'two words', /must be the name of a model, without white space/],
  ['NARRATE_KEY', 'hidden-word', /set ASSAY_NARRATE_URL to the endpoint of the key/],
  ['RATE_LIMIT', '0', /from 1 to 1000000/],
  ['RATE_LIMIT', '10/s', /from 1 to 1000000/],
  ['WORKSPACE_RATE_LIMIT', '-5', /from 1 to 1000000/],
  ['MAX_QUEUED', 'none', /from 0 to 1000000000/],
  ['MAX_RUNNING', '1.5', /from 0 to 1000000000/],
  ['MAX_PROCESSOR_SECONDS', '0', /from 1 to 1000000000/],
  ['WORKSPACE_SPILL', '10KB', /at least 1MB/],
  ['TRUST_PROXY', 'yes', PROXIES],
  ['TRUST_PROXY', '1', PROXIES],
  ['TRUST_PROXY', '10.0.0.0/33', PROXIES],
  ['TRUST_PROXY', '<script>', PROXIES],
  ['METRICS_TOKEN', 'short', /must be 16 to 512 visible characters/],
  ['TRACES', 'collector:4318', /must be an http or https address without a query, such as/],
  ['TRACES', 'http://ada:hidden-word@collector', /must hold no password/],
  ['TRACES_HEADERS', 'authorization', /must be NAME=VALUE/, { TRACES: 'http://collector:4318' }],
  ['TRACES_HEADERS', 'authorization=hidden-word', /set ASSAY_TRACES to the collector/],
  ['SECRET_KEY', 'hidden-word', /must be 32 bytes/],
  ['SECRET_KEY', `${KEY},${KEY}`, /name each key once/],
  ['SECRET_KEY', `${KEY},`, /must be 32 bytes/],
  ['BACKUP', 's3:bucket', /must be a folder or s3:\/\/BUCKET\/PREFIX/],
  ['BACKUP', './.assay/backups', /name a folder outside ASSAY_HOME/],
  [
    'BACKUP_ACCESS_KEY',
    '',
    /set the id of the key to the bucket of ASSAY_BACKUP/,
    { BACKUP: 's3://bucket', BACKUP_SECRET_KEY: 'x' },
  ],
  [
    'BACKUP_SECRET_KEY',
    '',
    /set the key to the bucket of ASSAY_BACKUP/,
    { BACKUP: 's3://bucket', BACKUP_ACCESS_KEY: 'x' },
  ],
  ['BACKUP_EVERY', '10s', /must be from 60s to/],
  ['BACKUP_EVERY', 'daily', DURATION],
  ['BACKUP_KEEP', '0', /from 1 to 100000/],
  ['BACKUP_RECIPIENT', 'age1abc', /must be the public key of a pair that age-keygen makes/],
  ['BACKUP_ENDPOINT', 'minio:9000', ADDRESS],
  ['BACKUP_REGION', 'EU', /must be the name of a region/],
  ['LOG_LEVEL', 'verbose', /must be one of debug, info, warn, error, silent/],
  ['LOG_LEVEL', '30', /must be one of debug/],
  ['LOG_FORMAT', 'xml', /must be one of .*json, text/],
  ['MAX_TIMEOUT', '0s', KEPT],
  ['MAX_TIMEOUT', '15', DURATION],
  ['MAX_MEMORY', '1MB', /must be at least 32MB/],
  ['MAX_MEMORY', '4', SIZE],
  ['MAX_THREADS', '0', /from 1 to 256/],
  ['MAX_ROWS', '0', /from 1 to 10000000/],
  ['MAX_ROWS', '1e6', /from 1 to 10000000/],
  ['MAX_OUTPUT', '0MB', /must be at least 1KB/],
  ['MAX_OUTPUT', '10GB', /at most as much as ASSAY_MAX_MEMORY/],
  ['KEEP_JOBS', '0d', KEPT],
  ['KEEP_JOBS', '30', DURATION],
  ['KEEP_JOBS', 'forever', DURATION],
  ['KEEP_JOBS', '999999999d', KEPT],
  ['KEEP_DRAFTS', '0s', KEPT],
  ['KEEP_EVENTS', '0d', KEPT],
  ['KEEP_DELIVERIES', '60d', /at most as much as ASSAY_KEEP_EVENTS/],
  ['KEEP_DELIVERIES', '0d', KEPT],
  ['KEEP_AUDIT', '0d', KEPT],
  ['LEASE', '1s', /must be from 3s to 600s/],
  ['LEASE', '1h', /must be from 3s to 600s/],
  ['DRAIN', '10', DURATION],
  ['DRAIN', '2d', /must be from 0s to 86400s/],
  ['LINGER', '1h', /must be from 0s to 300s/],
]

function faultsOf(environment: Record<string, string>): string[] {
  try {
    resolveConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message.split('\n')
  }
}

test('each setting that cannot be true gets one sentence that names it and says what to write', () => {
  assert.ok(WRONG.length >= 100)
  for (const [name, value, sentence, others = {}] of WRONG) {
    const given = { ...others, [name]: value }
    const environment = Object.fromEntries(Object.entries(given).map(([key, text]) => [`ASSAY_${key}`, text]))
    const faults = faultsOf(environment)
    const label = `ASSAY_${name}=${value}`
    assert.equal(faults.length, 1, `${label}: ${faults.join(' / ')}`)
    assert.ok(faults[0]!.startsWith(`ASSAY_${name}: `), `${label}: ${faults[0]}`)
    assert.match(faults[0]!, sentence, label)
    assert.match(faults[0]!, /\.$/)
    assert.doesNotMatch(faults[0]!, /hidden-word/)
  }
})

test('reads a secret from the file that its variable names, without the line break at its end', () => {
  const file = path.join(folder, 'token')
  writeFileSync(file, 'a-token-of-sixteen\n')
  assert.equal(resolveConfig({ ASSAY_TOKEN_FILE: file }).config.token, 'a-token-of-sixteen')
  const both = faultsOf({ ASSAY_TOKEN_FILE: file, ASSAY_TOKEN: 'another-of-sixteen' })
  assert.deepEqual(both, ['ASSAY_TOKEN_FILE: ASSAY_TOKEN is set, too; leave one of them out.'])
  const missing = faultsOf({ ASSAY_STORE_FILE: path.join(folder, 'none') })
  assert.match(
    missing[0]!,
    /^ASSAY_STORE_FILE: .*none is not a file that this process can read \(ENOENT\)\.$/,
  )
  writeFileSync(path.join(folder, 'empty'), '\n')
  assert.match(
    faultsOf({ ASSAY_SECRET_KEY_FILE: path.join(folder, 'empty') })[0]!,
    /is empty; write the secret/,
  )
  assert.match(faultsOf({ ASSAY_PORT_FILE: file })[0]!, /^ASSAY_PORT_FILE: there is no such setting/)
})
