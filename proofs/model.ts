/**
 * Checks that the API agrees with its model (test/history/model.ts): requests in any order, and clients that send at once,
 * whose answers some serial order must explain. It uses the running service, with a fresh workspace for each run, on
 * either database.
 */
import * as fc from 'fast-check'
import {
  type Answer,
  apply,
  type Call,
  type Command,
  EMPTY,
  explains,
  type Model,
} from '../test/history/model.ts'
import { missingPostgres, type Postgres, startPostgres } from '../test/servers/postgres.ts'
import { modes, startReceiver } from '../test/servers/receiver.ts'
import { startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

export interface ModelOptions {
  store: 'sqlite' | 'postgres'
  seed: number
  /** The number of runs of each kind, and the milliseconds after which no more begin, except for the first few. */
  runs: number
  limitMs: number
  log(line: string): void
}

export interface ModelReport {
  sequential: number
  parallel: number
  requests: number
  violations: string[]
}

const ADMIN = 'model-admin-token-0123456789'
const TEMPLATE = '---\ntitle: Model\n---\n# Model\n'

/** A command whose object is chosen when it runs: number `n` of those that exist then. */
type Wish = { name: Command['name']; n: number; flag: boolean }

const NAMES: readonly Command['name'][] = [
  ...(['create', 'create', 'run', 'run', 'run', 'cancel', 'cancel', 'status', 'status', 'delete'] as const),
  ...(['list', 'hook', 'patch', 'unhook', 'deliveries', 'redeliver'] as const),
]
const wish: fc.Arbitrary<Wish> = fc.record({
  name: fc.constantFrom(...NAMES),
  n: fc.nat(11),
  flag: fc.boolean(),
})

/** Returns null if no object exists that the command applies to. */
function commandOf({ name, n, flag }: Wish, { jobs, webhooks }: Model): Command | null {
  const pick = (things: object): string | undefined => {
    const ids = Object.keys(things)
    return ids[n % Math.max(1, ids.length)]
  }
  switch (name) {
    case 'create':
      return { name, note: flag ? 'a' : 'b', ...(n < 4 ? { key: `key-${n}` } : {}) }
    case 'list':
    case 'hook':
      return { name }
    case 'run':
    case 'cancel':
    case 'status':
    case 'delete': {
      const id = pick(jobs)
      return id === undefined ? null : { name, id }
    }
    case 'patch': {
      const id = pick(webhooks)
      return id === undefined ? null : { name, id, enabled: flag }
    }
    default: {
      const id = pick(webhooks)
      // Only a delivery that was sent can be sent again.
      const state = id === undefined ? undefined : webhooks[id]
      if (id === undefined || (name === 'redeliver' && (state === 'gone' || state?.deliveries === 0)))
        return null
      return { name, id }
    }
  }
}

type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>
interface Reply {
  status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the answer holds
  body: any
}

function asker(url: string, token: string): Ask {
  return async (method, path, body, headers = {}) => {
    const text = typeof body === 'string'
    const response = await fetch(`${url}/v1alpha${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': text ? 'text/markdown' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: text ? body : JSON.stringify(body) }),
    })
    const answer = await response.text()
    return { status: response.status, body: answer === '' ? null : (JSON.parse(answer) as unknown) }
  }
}

/** Sends a command to the service. Resolves with the parts of the answer that the model checks. */
async function perform(ask: Ask, command: Command, target: string): Promise<Answer> {
  const answer = ({ status, body }: Reply, more: Partial<Answer> = {}): Answer => ({
    status,
    code: status >= 400 ? (body.code as string) : null,
    ...(status < 400 ? more : {}),
  })
  const assignment = (id: string) => ({ payload: { type: 'assignment', assignment_id: id } })
  const job = (reply: Reply): Answer =>
    answer(reply, { job_status: reply.body?.job_status, error: reply.body?.error?.code ?? null })
  switch (command.name) {
    case 'create': {
      const payload = { type: 'template', template_id: 'model', metadata: { note: command.note } }
      const headers = command.key === undefined ? {} : { 'idempotency-key': command.key }
      const reply = await ask('POST', '/jobs', { payload }, headers)
      return answer(reply, { id: reply.body })
    }
    case 'run':
      return job(await ask('POST', '/jobs/run', assignment(command.id)))
    case 'cancel':
      return job(await ask('POST', '/jobs/cancel', assignment(command.id)))
    case 'status':
      return job(await ask('GET', `/jobs/status?assignment_id=${command.id}`))
    case 'delete':
      return answer(await ask('DELETE', `/jobs/${command.id}`))
    case 'list': {
      const reply = await ask('GET', '/jobs?limit=200')
      const items = (reply.body?.items ?? []) as { assignment_id: string; job_status: string }[]
      return answer(reply, { items: items.map((one) => ({ id: one.assignment_id, state: one.job_status })) })
    }
    case 'hook': {
      const body = { url: target, user_id: 'ada', presence_name: 'ops', events: ['job.canceled'] }
      const reply = await ask('POST', '/webhooks', body)
      return answer(reply, { id: reply.body?.webhook_id })
    }
    case 'patch': {
      const status = command.enabled ? 'enabled' : 'disabled'
      const reply = await ask('PATCH', `/webhooks/${command.id}`, { status })
      return answer(reply, { items: [{ id: command.id, state: reply.body?.status }] })
    }
    case 'unhook':
      return answer(await ask('DELETE', `/webhooks/${command.id}`))
    case 'deliveries': {
      const reply = await ask('GET', `/webhooks/${command.id}/deliveries?limit=200`)
      const items = (reply.body?.items ?? []) as { delivery_id: string; status: string }[]
      return answer(reply, { items: items.map((one) => ({ id: one.delivery_id, state: one.status })) })
    }
    case 'redeliver': {
      const listed = await ask('GET', `/webhooks/${command.id}/deliveries?limit=1`)
      if (listed.status >= 400) return answer(listed)
      return answer(await ask('POST', `/webhooks/deliveries/${listed.body.items[0].delivery_id}/redeliver`))
    }
  }
}

interface World {
  url: string
  /** The address of the webhooks. */
  target: string
  requests: number
}

interface Client {
  world: World
  ask: Ask
}

/** The least number of runs. */
const LEAST_RUNS = 3

let workspaces = 0

async function freshWorkspace(world: World): Promise<Client> {
  workspaces += 1
  const workspace_id = `model-${process.pid}-${workspaces}`
  const operator = asker(world.url, ADMIN)
  await operator('POST', '/workspaces', { workspace_id })
  const made = await operator('POST', '/tokens', { name: 'model', scopes: ['admin'], workspace_id })
  const ask = asker(world.url, made.body.token as string)
  const put = await ask('PUT', '/jobs/templates/model', TEMPLATE)
  if (put.status >= 300) throw new Error(JSON.stringify(put))
  return { world, ask }
}

const shown = (command: Command, answer: Answer): string =>
  `${JSON.stringify(command)} -> ${JSON.stringify(answer)}`

interface State {
  model: Model
}

/** A command of fast-check. The model chooses its object when it runs. */
class Step implements fc.AsyncCommand<State, Client> {
  readonly wish: Wish
  constructor(given: Wish) {
    this.wish = given
  }
  /** Always true, because only the run shows whether an object exists. */
  check(): boolean {
    return true
  }
  async run(state: State, { ask, world }: Client): Promise<void> {
    const command = commandOf(this.wish, state.model)
    if (command === null) return
    world.requests += 1
    const answer = await perform(ask, command, world.target)
    const next = apply(state.model, command, answer)
    if (next === null) throw new Error(`${shown(command, answer)}\nin ${JSON.stringify(state.model)}`)
    state.model = next
  }
  toString(): string {
    return JSON.stringify(this.wish)
  }
}

async function runInTurn({ ask, world }: Client, wishes: Wish[]): Promise<Model> {
  const state: State = { model: EMPTY }
  for (const one of wishes) await new Step(one).run(state, { ask, world })
  return state.model
}

/** Runs the first commands one after another, and then all clients at once, each with its own commands. */
async function runAtOnce(client: Client, before: Wish[], clients: Wish[][]): Promise<void> {
  const { ask, world } = client
  const model = await runInTurn(client, before)
  const calls: Call[] = []
  let order = 0
  await Promise.all(
    clients.map(async (wishes) => {
      for (const one of wishes) {
        const command = commandOf(one, model)
        // A replay lists first and sends afterwards, which are two steps.
        if (command === null || command.name === 'redeliver') continue
        world.requests += 1
        order += 1
        const asked = order
        const answer = await perform(ask, command, world.target)
        order += 1
        calls.push({ command, answer, asked, answered: order })
      }
    }),
  )
  if (explains(model, calls)) return
  const told = calls.map(
    ({ command, answer, asked, answered }) => `${asked}-${answered} ${shown(command, answer)}`,
  )
  throw new Error(`no serial order explains\n${told.join('\n')}\nafter ${JSON.stringify(model)}`)
}

const BEGIN: Wish[] = [
  { name: 'create', n: 9, flag: true },
  { name: 'hook', n: 0, flag: true },
  { name: 'create', n: 9, flag: false },
]

async function check(options: ModelOptions, world: World): Promise<ModelReport> {
  const report: ModelReport = { sequential: 0, parallel: 0, requests: 0, violations: [] }
  const settings = { seed: options.seed, numRuns: options.runs }
  /** Returns a function that returns false once the time is up, also while fast-check shrinks. */
  const timekeeper = (): ((done: number) => boolean) => {
    const end = performance.now() + options.limitMs / 2
    return (done) => done < LEAST_RUNS || performance.now() < end
  }
  const note = async (kind: string, run: Promise<fc.RunDetails<unknown>>): Promise<void> => {
    const details = await run
    if (!details.failed || details.counterexample === null) return
    const error = details.errorInstance as Error | null
    options.log(`${kind}: path ${details.counterexamplePath}`)
    report.violations.push(
      `${kind}: ${error?.message ?? 'failed'}\n${JSON.stringify(details.counterexample)}`,
    )
  }
  const beginsInTurn = timekeeper()
  const steps = fc.commands([wish.map((one) => new Step(one))], { maxCommands: 40, size: 'max' })
  await note(
    'in turn',
    fc.check(
      fc.asyncProperty(steps, async (commands) => {
        if (!beginsInTurn(report.sequential)) return
        report.sequential += 1
        const real = await freshWorkspace(world)
        await fc.asyncModelRun(() => ({ model: { model: EMPTY }, real }), commands)
      }),
      settings,
    ) as Promise<fc.RunDetails<unknown>>,
  )
  const beginsAtOnce = timekeeper()
  const few = fc.array(wish, { maxLength: 6 })
  const clients = fc.array(fc.array(wish, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 4 })
  await note(
    'at once',
    fc.check(
      fc.asyncProperty(few, clients, async (before, wishes) => {
        if (!beginsAtOnce(report.parallel)) return
        report.parallel += 1
        await runAtOnce(await freshWorkspace(world), [...BEGIN, ...before], wishes)
      }),
      settings,
    ) as Promise<fc.RunDetails<unknown>>,
  )
  return { ...report, requests: world.requests }
}

export async function agreeWithModel(options: ModelOptions): Promise<ModelReport> {
  const { folder, remove } = temporaryFolder()
  const receiver = await startReceiver({ mode: modes.ok() })
  const name = `assay_model_${process.pid}`
  let postgres: Postgres | null = null
  try {
    if (options.store === 'postgres') postgres = await startPostgres()
    const url = await postgres?.createDatabase(name)
    const service = await startService({
      home: folder,
      wrapped: false,
      env: {
        ASSAY_TOKEN: ADMIN,
        ASSAY_WORKERS: '1',
        ASSAY_LOG_LEVEL: 'error',
        ASSAY_WEBHOOK_TARGETS: 'loopback',
        ...(url === undefined ? {} : { ASSAY_STORE: url, ASSAY_SECRET_KEY: 'a1'.repeat(32) }),
      },
    })
    try {
      return await check(options, { url: service.url, target: receiver.url, requests: 0 })
    } finally {
      service.signal('SIGTERM')
      await service.exited
    }
  } finally {
    await postgres?.dropDatabase(name)
    await postgres?.stop()
    await receiver.close()
    remove()
  }
}

export const proof: Proof = {
  summary: 'any requests in any order, and at once, agree with the model (--store sqlite|postgres, --runs N)',
  async run({ seed, number, text, log }) {
    const violations: string[] = []
    const wanted = text('store', '')
    for (const store of ['sqlite', 'postgres'] as const) {
      if (wanted !== '' && wanted !== store) continue
      const missing = store === 'postgres' ? await missingPostgres() : null
      if (missing !== null) {
        log(`postgres is left out: ${missing}`)
        continue
      }
      const limitMs = number('minutes', 20) * 60_000
      const report = await agreeWithModel({ store, seed, runs: number('runs', 500), limitMs, log })
      const { sequential, parallel, requests } = report
      log(`${store}: ${sequential} runs in turn, ${parallel} at once, ${requests} requests`)
      violations.push(...report.violations.map((violation) => `${store}: ${violation}`))
    }
    return violations
  },
}
