/**
 * The repository of templates. One node at a time pulls it and judges the newest commit. A commit that passes is written to the store
 * as a whole, and every node serves it from there. So a git server that is down, a commit with faults and a process that dies each
 * leave the last good commit.
 */
import type { NewAuditRecord } from '@assay/model/audit'
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { REPOSITORY_ID, type Repository, type RepositoryView } from '@assay/model/repository'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { HOLD_MS, type Pulled } from '@assay/store/contract/repositories'
import type { Store } from '@assay/store/store'
import type { Config } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import type { Service } from '../runtime/service.ts'
import { OWNER } from './judge-settings.ts'
import type { JudgeParts } from './judging.ts'
import { layerOf } from './layer.ts'
import type { LayeredCatalog } from './layered-catalog.ts'
import type { Proposal, Propose } from './proposal.ts'
import { createPuller, type Puller } from './pull.ts'
import type { Pull, PullInput } from './pull-commit.ts'

const POLL_MS = 1000

export interface RepositoryOptions extends Omit<JudgeParts, 'store'> {
  store: Store
  /** The catalog that serves the commit. */
  served: LayeredCatalog
  config: Pick<
    Config,
    | 'templates'
    | 'templatesBranch'
    | 'templatesFolder'
    | 'templatesUser'
    | 'templatesToken'
    | 'templatesSshKey'
    | 'templatesSshHostKeys'
    | 'templatesEvery'
  >
  targets: readonly string[]
  log: Logger
}

export interface RepositoryNode extends Service {
  propose: Propose
  /** Serves the last good commit and starts a look soon after. Call it once, before requests are answered. */
  open(): Promise<void>
}

/** Names the repository: "the repository https://..., branch main". */
export function repositoryName({ address, branch }: Pick<Repository, 'address' | 'branch'>): string {
  return `the repository ${address}${branch === null ? '' : `, branch ${branch}`}`
}

type Head = Pick<Repository, 'repository_id' | 'revision'>

/** Renews the claim until `over`. Aborts `lost` if another node has claimed it. */
async function hold(
  { store, clock }: RepositoryOptions,
  { repository_id, revision }: Head,
  over: AbortSignal,
  lost: AbortController,
): Promise<void> {
  for (;;) {
    await clock.sleep(HOLD_MS / 3, over)
    if (over.aborted) return
    const kept = await store.holdRepository({ repository_id, revision }).catch(() => true)
    if (!kept) lost.abort()
  }
}

class Node implements RepositoryNode {
  readonly name = 'repository'
  readonly #options: RepositoryOptions
  readonly #puller: Puller
  readonly #address: string
  #lastFailure: string | null = null

  constructor(options: RepositoryOptions) {
    this.#options = options
    this.#puller = createPuller(options.tempRoot)
    this.#address = options.config.templates.repository!
  }

  async open(): Promise<void> {
    const { store, config, log } = this.#options
    const { templatesBranch: branch, templatesFolder: folder } = config
    const address = this.#address
    await store.openRepository({ repository_id: REPOSITORY_ID, address, branch, folder })
    await store.askRepository(REPOSITORY_ID)
    await this.#serve().catch((error: unknown) =>
      log.warn({ err: error }, 'the repository is not served yet'),
    )
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      await this.#look(signal).catch((error: unknown) => {
        const reason =
          error instanceof AppError ? { code: error.code, detail: error.message } : { err: error }
        if (!signal.aborted) log.warn(reason, 'the repository could not be looked at and is tried again')
      })
      await clock.sleep(POLL_MS, signal)
    }
    await this.#puller.close()
  }

  propose({ branch: proposal, file, ...rest }: Proposal, signal: AbortSignal) {
    const folder = this.#options.config.templatesFolder
    const path = folder === '' ? file : `${folder}/${file}`
    return this.#puller.propose({ ...this.#where(), ...rest, proposal, file: path }, signal)
  }

  #where(): Omit<PullInput, 'known' | 'gitdir'> {
    const { config, targets } = this.#options
    return {
      address: this.#address,
      branch: config.templatesBranch,
      folder: config.templatesFolder,
      user: config.templatesUser,
      token: config.templatesToken,
      key: config.templatesSshKey,
      hostKeys: config.templatesSshHostKeys,
      targets,
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options
    const head = await store.getRepository(REPOSITORY_ID)
    if (!head) return
    await this.#serveIfNew(head)
    if (!isDue(head, iso(clock.now()))) return
    const claimed = await store.claimRepository(REPOSITORY_ID)
    if (!claimed) return
    await this.#take(claimed, signal)
    await this.#serveIfNew(await store.getRepository(REPOSITORY_ID))
  }

  async #serveIfNew(head: Repository | null): Promise<void> {
    if (head?.taken && head.taken.commit_id !== this.#options.served.layer()?.commit_id) await this.#serve()
  }

  async #serve(): Promise<void> {
    const { store, served, log } = this.#options
    const taken = await store.getRepositoryTree(REPOSITORY_ID)
    if (!taken) return
    const layer = await layerOf(taken, this.#options)
    for (const { file, faults } of layer.broken)
      log.warn({ file, faults }, 'a file of the repository cannot be used')
    served.serve(layer)
    const { commit_id, templates, metrics } = layer
    log.info(
      { commit_id, templates: templates.size, metrics: metrics.size },
      'a commit of the repository is served',
    )
  }

  /** Pulls and judges while the claim lasts. */
  async #take(claimed: Repository, signal: AbortSignal): Promise<void> {
    const { store, config } = this.#options
    const { repository_id, revision } = claimed
    const over = new AbortController()
    const lost = new AbortController()
    const holding = hold(this.#options, claimed, over.signal, lost)
    try {
      const pulled = await this.#pull(claimed, AbortSignal.any([signal, lost.signal]))
      if (signal.aborted || lost.signal.aborted) return
      const record = recordOf(pulled)
      const writer = record ? store.audited(record) : store
      const every_ms = config.templatesEvery
      if (await writer.settleRepository({ repository_id, revision, every_ms, pulled })) this.#tell(pulled)
    } finally {
      over.abort()
      await holding
    }
  }

  async #pull(claimed: Repository, signal: AbortSignal): Promise<Pulled> {
    const { store } = this.#options
    const known = isWorthAnother(claimed) ? null : (claimed.latest?.commit_id ?? null)
    const found: Pull = await this.#puller.pull({ ...this.#where(), known }, signal)
    if ('unreached' in found || 'unchanged' in found) return found
    const before = await store.getRepositoryTree(REPOSITORY_ID)
    const { commit, files } = found
    const candidate = {
      commit_id: commit.commit_id,
      files,
      known: before?.tree ?? null,
      owned: claimed.owned,
    }
    // Most services have no repository, and the judge loads the checks and the tests of templates.
    const { judge } = await import('./judge.ts')
    const judged = await judge(candidate, this.#options, signal)
    return { commit, ...judged, owner: OWNER }
  }

  #tell(pulled: Pulled): void {
    const { log } = this.#options
    const failure = 'unreached' in pulled ? pulled.unreached : null
    if (failure !== null && failure !== this.#lastFailure)
      log.warn(
        { address: this.#address, detail: failure },
        'the repository cannot be pulled: what was taken last is served',
      )
    this.#lastFailure = failure
    if (!('commit' in pulled)) return
    const { commit_id, subject } = pulled.commit
    const fields = { commit_id, subject, faults: pulled.faults }
    if (pulled.tree) log.info(fields, 'a commit of the repository was taken')
    else log.warn(fields, 'a commit of the repository was refused: nothing has changed')
  }
}

export function createRepositoryNode(options: RepositoryOptions): RepositoryNode {
  return new Node(options)
}

const isDue = ({ held_until, due_at, asked }: Repository, now: string): boolean =>
  held_until <= now && (asked || due_at <= now)

/** Tells whether a refused commit is judged again: somebody asks for it, or its data may exist by now. */
function isWorthAnother({ latest, asked }: Repository): boolean {
  if (latest?.status !== 'refused') return false
  return asked || latest.faults.some(({ code }) => code === 'source_unavailable')
}

function recordOf(pulled: Pulled): NewAuditRecord | null {
  if (!('commit' in pulled)) return null
  return {
    workspace_id: DEFAULT_WORKSPACE,
    action: pulled.tree ? 'repository.take' : 'repository.refuse',
    object_id: pulled.commit.commit_id,
    fields: [],
    user_id: null,
    token_id: null,
    address: null,
    request_id: null,
  }
}

export function repositoryView(
  head: Repository,
  { now, conflicts }: { now: string; conflicts: RepositoryView['conflicts'] },
): RepositoryView {
  const { address, branch, folder, taken, latest, pulled_at, unreached, due_at, held_until, asked } = head
  const looking = asked || held_until > now || due_at <= now
  return { address, branch, folder, taken, latest, pulled_at, unreached, looking, conflicts }
}
