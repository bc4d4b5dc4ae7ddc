/** Turns whatever liquidjs, a filter or a tag throws into a fault with its place. */

import type { Fault } from '@assay/model/template'
import { LiquidError } from 'liquidjs'
import { SyntaxFault } from '../language/expressions.ts'
import { makeFault, TemplateFault } from '../language/fault.ts'
import { placesOf } from '../language/prose.ts'

export interface Origin {
  text: string
  /** Where the expression begins in the text, where the error knows nothing better. */
  offset: number
  partial: string | null
  /** The partials that the text can render: an error inside one knows its text, not its name. */
  partials?: Record<string, string>
}

export function toFault(error: unknown, origin: Origin): Fault {
  const cause = rootOf(error)
  if (cause instanceof TemplateFault) return cause.fault
  const token = (error as { token?: { input: string; begin: number } }).token
  const found = Object.entries(origin.partials ?? {}).find(([, text]) => text === token?.input)
  const [partial, text] = token?.input === origin.text ? [origin.partial, origin.text] : (found ?? [])
  const { message, remedy } = wording(cause)
  const make = (source: string, offset: number, name: string | null): Fault =>
    makeFault(codeOf(cause), placesOf(source)(offset), message, remedy, { partial: name })
  // An expression of a tag is evaluated as a slice: what the error says of its place means nothing then.
  if (token === undefined || text === undefined) return make(origin.text, origin.offset, origin.partial)
  return make(text, cause instanceof SyntaxFault ? cause.offset : token.begin, partial ?? null)
}

/** A fault of ours is wrapped by liquidjs, once for each tag around it. */
function rootOf(error: unknown): unknown {
  let cause = error
  while (LiquidError.is(cause) && (cause as { originalError?: unknown }).originalError instanceof Error) {
    cause = (cause as { originalError?: unknown }).originalError
  }
  return cause
}

function codeOf(cause: unknown): string {
  if (cause instanceof SyntaxFault) return 'liquid_syntax'
  return (cause as Error).message.startsWith('undefined variable') ? 'unknown_name' : 'render_failed'
}

function wording(cause: unknown): { message: string; remedy: string } {
  const error = cause as Error & { remedy?: string }
  const text = error.message.replace(/, (file:.*?, )?line:\d+, col:\d+$/, '')
  const missing = /^undefined variable: (.*)$/.exec(text)
  if (missing) {
    const remedy = 'Check the name: prose sees vars, run and the blocks of the template.'
    return { message: `There is no ${JSON.stringify(missing[1])}.`, remedy }
  }
  const filter = /^undefined filter: (.*)$/.exec(text)
  if (filter)
    return { message: `There is no filter ${JSON.stringify(filter[1])}.`, remedy: 'Check its name.' }
  if (/limit exceeded/.test(text)) {
    return { message: `Rendering stopped: ${text}.`, remedy: 'Loop over less, or aggregate in SQL.' }
  }
  return { message: /[.!?]$/.test(text) ? text : `${text}.`, remedy: error.remedy || 'Correct the template.' }
}
