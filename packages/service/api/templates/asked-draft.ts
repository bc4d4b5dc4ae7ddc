/** The template of a draft, written by the language model of the settings. */
import { ANSWER_TOKENS, type Asked, askModel, errorSentences } from '@assay/engine/drafting/ask'
import type { Drafted } from '@assay/engine/drafting/draft'
import { AppError } from '@assay/model/errors'
import type { Findings } from '@assay/model/insight'
import { ownSource } from '../../templates/own-metrics.ts'
import type { Call } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { connectionsFor, rootsOf } from './template-lookup.ts'
import { notTried, runUnstored } from './unstored.ts'

/** The time in milliseconds for all questions of a request together. */
const ASK_MS = 120_000

/** Returns the faults of a template of the workspace, by the checks and by a run in the sandbox. */
async function faultsIn(call: Call, source: string): Promise<string[]> {
  const { services, principal, signal } = call
  const { workspace_id } = principal
  const template = await ownSource(services, workspace_id, 'draft', source)
  const { found, faults } = await services.templates.read(template, workspace_id)
  if (found === null) return errorSentences(faults)
  const roots = await rootsOf(services, principal)
  const connections = connectionsFor(services, principal, found, true)
  const seen = await services.pool
    .check({ kind: 'check', template, roots }, { workspace_id, signal: signal(), connections })
    .catch(notTried)
  const errors = errorSentences(seen)
  if (errors.length > 0) return errors
  try {
    await runUnstored(call, found, {})
    return []
  } catch (error) {
    if (error instanceof AppError && error.code === 'preview_failed') return [error.message]
    throw error
  }
}

/** Asks the model for the template of a draft. Throws a 422 if no model is configured. */
export async function askedDraft(
  call: Call,
  question: string,
  drafted: { found: Findings; drafted: Drafted },
): Promise<Asked> {
  const { services, principal, signal } = call
  const { model } = services
  if (!model)
    throw invalid([
      {
        path: 'ask',
        message:
          'needs a language model, and ASSAY_NARRATE_URL names none: leave it out for the draft by rules',
      },
    ])
  const { workspace_id } = principal
  const until = performance.now() + ASK_MS
  const given = { workspace_id, signal: signal() }
  return askModel(question, drafted, {
    async ask(asked) {
      const within_ms = until - performance.now()
      if (within_ms <= 0) return null
      const answer = await model({ ...asked, most_tokens: ANSWER_TOKENS }, { ...given, within_ms })
      return 'missing' in answer && answer.missing === 'failed' ? null : answer
    },
    faultsOf: (source) => faultsIn(call, source),
  })
}
