/** Makes the JSON Schema of a template's variables for agents. The values are validated when the job is created. */

import type { TemplateView, VariableType, VariableView } from '@assay/model/template'
import type { JSONObject, JSONValue } from '@modelcontextprotocol/server'

/** The description of the reader's id in each tool that takes one. */
export const FOR_READER = 'For whom a personal template is run. Leave it out to run it as the own user'

const TYPES: Record<VariableType, { type: string; format?: string; hint?: string }> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  timestamp: { type: 'string', format: 'date-time' },
  period: {
    type: 'string',
    hint: 'A period such as 2024-01-01..2024-03-31 (both days belong), last_30_days, last_month, year_to_date',
  },
  column: { type: 'string', hint: 'The name of a column' },
  file: { type: 'string', hint: 'A path below the data folder, or sample/NAME' },
  list: { type: 'array' },
}

export type InputSchema = {
  type: 'object'
  properties: Record<string, JSONObject>
  required: string[]
  additionalProperties: false
}

function propertyOf({
  type,
  description,
  enum: allowed,
  min,
  max,
  pattern,
  default: given,
}: VariableView): JSONObject {
  const { hint, ...base } = TYPES[type]
  const numeric = type === 'integer' || type === 'number'
  const text = [description, hint].filter(Boolean).join('. ')
  return {
    ...base,
    ...(text ? { description: text } : {}),
    ...(allowed ? { enum: allowed as JSONValue[] } : {}),
    ...(numeric && typeof min === 'number' ? { minimum: min } : {}),
    ...(numeric && typeof max === 'number' ? { maximum: max } : {}),
    ...(pattern && type === 'string' ? { pattern } : {}),
    ...(given !== null && given !== undefined ? { default: given as JSONValue } : {}),
  }
}

/** The name of the argument for the reader. It exists if the template is personal and no variable has that name. */
export const READER_ID = 'reader_id'

export function takesReaderId({
  personal,
  variables,
}: Pick<TemplateView, 'personal' | 'variables'>): boolean {
  return personal && variables.every(({ name }) => name !== READER_ID)
}

export function inputSchema(template: Pick<TemplateView, 'personal' | 'variables'>): InputSchema {
  const { variables } = template
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(variables.map((variable) => [variable.name, propertyOf(variable)])),
      ...(takesReaderId(template) ? { [READER_ID]: { type: 'string', description: FOR_READER } } : {}),
    },
    required: variables.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  }
}
