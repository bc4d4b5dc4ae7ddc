/**
 * Asks a language model behind an endpoint that speaks OpenAI's chat completions. The operator names the endpoint,
 * which may be inside the network. An answer is kept by its model and question, so that the same job gives the same
 * bytes.
 */
import { createHash } from 'node:crypto'
import { KeyedSemaphore } from '@assay/net/semaphore'
import type { Store } from '@assay/store/store'
import { type Config, ConfigError } from '../config/config.ts'
import type { Ledger } from '../outgoing/ledger.ts'

interface NarratorOptions {
  /** The address of the endpoint, without "/chat/completions". */
  url: string
  model: string
  key: string | null
  /** Keeps answers; null if none are kept. */
  cache: Pick<Store, 'getNarrative' | 'keepNarrative'> | null
  /** Counts questions. Null on a machine without a service, where nothing is counted. */
  ledger: Pick<Ledger, 'take' | 'addBytes'> | null
  /** Called with the reason when a question gets no answer. */
  onFailure(reason: string): void
}

/** The time in milliseconds for both tries together. */
const TIMEOUT_MS = 60_000
const TRIES = 2
/** The most questions under way at a time: of one workspace, and of this node. */
const AT_ONCE = { workspace: 2, node: 8 }
const MOST_TOKENS = 800
const MOST_BYTES = 1_000_000

/** `most_tokens`: the most tokens of the answer (default 800). */
type Question = { instructions: string; prompt: string; most_tokens?: number }
type Answer = { text: string; model: string } | { missing: 'failed' } | { missing: 'refused'; why: string }

export type LanguageModel = NonNullable<ReturnType<typeof narratorOf>>

/** Makes the narrator. Returns undefined without ASSAY_NARRATE_URL. Throws ConfigError if the model has no name. */
export function narratorOf(
  { narrateUrl: url, narrateModel: model, narrateKey: key }: Config,
  shared: Pick<NarratorOptions, 'cache' | 'ledger' | 'onFailure'>,
) {
  if (url === null) return undefined
  if (model === '')
    throw new ConfigError('ASSAY_NARRATE_MODEL: name the model that ASSAY_NARRATE_URL is to use.')
  return createNarrator({ url, model, key, ...shared })
}

function createNarrator(options: NarratorOptions) {
  const { model, cache, ledger, onFailure } = options
  const permits = new KeyedSemaphore()

  /** Runs calls in their order, with a limit on those at a time. */
  async function inTurn(
    workspace_id: string,
    signal: AbortSignal,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const own = await permits.acquire(`workspace ${workspace_id}`, AT_ONCE.workspace, signal)
    const node = own && (await permits.acquire('node', AT_ONCE.node, signal))
    try {
      if (!node) throw signal.reason as Error
      return await work()
    } finally {
      node?.()
      own?.()
    }
  }

  return async function narrate(
    question: Question,
    given: { workspace_id: string; signal: AbortSignal; within_ms: number },
  ): Promise<Answer> {
    const { instructions, prompt } = question
    const { workspace_id, signal, within_ms } = given
    const hash = createHash('sha256')
      .update(JSON.stringify([model, instructions, prompt]))
      .digest('hex')
    try {
      const kept = await cache?.getNarrative({ workspace_id, hash })
      if (typeof kept === 'string') return { text: kept, model }
      const late = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(within_ms))])
      return await inTurn(workspace_id, late, async () => {
        const refusal = await ledger?.take(workspace_id, 'model')
        if (refusal) return { missing: 'refused', why: refusal.text }
        const text = await askUntilAnswered(
          options,
          question,
          AbortSignal.any([late, AbortSignal.timeout(TIMEOUT_MS)]),
        )
        ledger?.addBytes(workspace_id, 'model', Buffer.byteLength(instructions + prompt + text))
        return { text: cache ? await cache.keepNarrative({ workspace_id, hash, text }) : text, model }
      })
    } catch (error) {
      if (!signal.aborted) onFailure((error as Error).message)
      return { missing: 'failed' }
    }
  }
}

async function askUntilAnswered(
  options: NarratorOptions,
  question: Question,
  signal: AbortSignal,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask(options, question, signal)
    } catch (error) {
      if (attempt === TRIES || signal.aborted) throw error
    }
  }
}

async function ask({ url, model, key }: NarratorOptions, question: Question, signal: AbortSignal) {
  const { request } = await import('undici')
  const { statusCode, body } = await request(`${url.replace(/\/+$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({
      model,
      temperature: 0,
      max_tokens: question.most_tokens ?? MOST_TOKENS,
      messages: [
        { role: 'system', content: question.instructions },
        { role: 'user', content: question.prompt },
      ],
    }),
    signal,
  })
  let answer = ''
  for await (const chunk of body.setEncoding('utf8')) {
    answer += chunk as string
    if (answer.length > MOST_BYTES) throw new Error('The answer is too large.')
  }
  if (statusCode !== 200) throw new Error(`The endpoint answered ${statusCode}.`)
  const { choices } = JSON.parse(answer) as { choices?: { message?: { content?: unknown } }[] }
  const text = choices?.[0]?.message?.content
  if (typeof text !== 'string' || text.trim() === '') throw new Error('The answer holds no text.')
  return text
}
