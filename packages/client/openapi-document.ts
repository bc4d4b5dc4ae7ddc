/** The parts of the OpenAPI document that the generators of the clients read. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  description?: string
}

export interface Parameter {
  $ref?: string
  name: string
  in: string
  required?: boolean
  schema: Schema
  description?: string
}

type Content = Record<string, { schema: Schema }>

export interface Operation {
  operationId: string
  summary: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}

export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
