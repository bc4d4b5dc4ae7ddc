/**
 * Makes the types and the operations of the Python client from the OpenAPI document: a TypedDict for each object, and a method for each
 * operation, once for `Client` and once for `AsyncClient`.
 */
import type { Document, Operation, Schema } from './openapi-document.ts'

const PREFIX = '/v1alpha'
/** The operations that answer a stream. `Client.watch` reads it. */
const STREAMS = ['jobEvents']
const KEYWORDS = new Set([
  'from',
  'is',
  'in',
  'as',
  'if',
  'or',
  'and',
  'not',
  'with',
  'class',
  'def',
  'for',
  'import',
  'pass',
])
const PLAIN: Record<string, string> = {
  string: 'str',
  boolean: 'bool',
  null: 'None',
  integer: 'int',
  number: 'float',
}

const capitalized = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_found, letter: string) => letter.toUpperCase())
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const literal = (value: unknown): string => (value === null ? 'None' : JSON.stringify(value))
const isName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name)

/** The classes by name, in the order in which they occur. */
type Classes = Map<string, string>

function unionOf(types: string[]): string {
  const all = [...new Set(types)]
  if (all.includes('Any')) return 'Any'
  return all.length === 1 ? all[0]! : `Union[${all.join(', ')}]`
}

function typeOf(schema: Schema, name: string, classes: Classes): string {
  const { $ref, type, items, additionalProperties: others } = schema
  if ($ref) return `"${$ref.slice($ref.lastIndexOf('/') + 1)}"`
  if ('const' in schema) return `Literal[${literal(schema.const)}]`
  if (schema.enum) return `Literal[${schema.enum.map(literal).join(', ')}]`
  if (schema.anyOf)
    return unionOf(
      schema.anyOf.map((one, at) => typeOf(one, one.properties ? `${name}${at + 1}` : name, classes)),
    )
  if (Array.isArray(type)) return unionOf(type.map((one) => typeOf({ ...schema, type: one }, name, classes)))
  if (type === 'array') return `List[${typeOf(items ?? {}, name, classes)}]`
  if (type === 'object' && schema.properties) return `"${addClass(schema, name, classes)}"`
  if (type === 'object')
    return `Dict[str, ${typeof others === 'object' ? typeOf(others, name, classes) : 'Any'}]`
  return PLAIN[type ?? ''] ?? 'Any'
}

function addClass(
  { properties = {}, required = [], description }: Schema,
  name: string,
  classes: Classes,
): string {
  const fields = Object.entries(properties).map(([field, schema]): [string, string] => {
    const own = typeOf(schema, name + capitalized(field), classes)
    return [field, required.includes(field) ? own : `NotRequired[${own}]`]
  })
  const bare = fields.map(([field, type]): [string, string] => [field, type.replaceAll('"', "'")])
  const doc = description ? `    """${description.replaceAll('"""', '')}"""\n\n` : ''
  const text = fields.every(([field]) => isName(field))
    ? `class ${name}(TypedDict):\n${doc}${fields.map(([field, type]) => `    ${field}: ${type}\n`).join('') || '    pass\n'}`
    : `${name} = TypedDict("${name}", {${bare.map(([field, type]) => `"${field}": ${literal(type)}`).join(', ')}})\n`
  classes.set(name, text)
  return name
}

/** Returns the Python type of the answer, and the code that reads it. */
function answerOf(
  { operationId, responses }: Operation,
  classes: Classes,
): [type: string, reads: 'json' | 'bytes' | 'none'] {
  const contents = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content = {} }]) => content)
  const json = contents.flatMap((content) =>
    content['application/json'] ? [content['application/json'].schema] : [],
  )
  if (json.length > 0)
    return [
      unionOf(json.map((schema) => typeOf(schema, `${capitalized(operationId)}Answer`, classes))),
      'json',
    ]
  return contents.some((content) => Object.keys(content).length > 0) ? ['bytes', 'bytes'] : ['None', 'none']
}

function bodyArgument(
  { operationId, requestBody }: Operation,
  classes: Classes,
): [argument: string, passed: string] | null {
  const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (!media || !content) return null
  if (media === 'application/json' || media === 'application/x-www-form-urlencoded') {
    const type = typeOf(content.schema, `${capitalized(operationId)}Body`, classes)
    const kind = media === 'application/json' ? 'body' : 'form'
    return [requestBody!.required ? `body: ${type}` : `body: Optional[${type}] = None`, `${kind}=body`]
  }
  return media === '*/*'
    ? ['data: bytes', 'data=data']
    : ['source: str', `data=source.encode(), media="${media}"`]
}

interface Made {
  path: string
  method: string
  operation: Operation
}

function methodOf({ path, method, operation }: Made, isAsync: boolean, classes: Classes): string {
  const { operationId, summary, parameters = [] } = operation
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const queries = parameters.filter((one) => one.in === 'query')
  const keyed = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'))
  const body = bodyArgument(operation, classes)
  const [type, reads] = answerOf(operation, classes)
  const typed = ({ name, required, schema }: (typeof queries)[number]): string => {
    const own = typeOf(schema, `${capitalized(operationId)}${capitalized(name)}`, classes)
    return required ? `${name}: ${own}` : `${name}: Optional[${own}] = None`
  }
  const matched = parameters.some(({ name, in: place }) => place === 'header' && name === 'If-Match')
  const optional = [
    ...queries.map(typed),
    ...(keyed ? ['idempotency_key: Optional[str] = None'] : []),
    ...(matched ? ['if_match: Optional[str] = None'] : []),
  ]
  const given = [
    'self',
    ...names.map((name) => `${name}: str`),
    ...(body ? [body[0]] : []),
    '*',
    ...optional,
    'timeout: Optional[float] = None',
  ]
  const place = path.replaceAll(/\{(\w+)\}/g, (_found, name: string) =>
    operationId.endsWith('File') && name === 'path' ? '{files(path)}' : `{segment(${name})}`,
  )
  const passed = [
    `"${method.toUpperCase()}"`,
    names.length > 0 ? `f"${place}"` : `"${place}"`,
    `"${reads}"`,
    ...(queries.length > 0 ? [`query={${queries.map(({ name }) => `"${name}": ${name}`).join(', ')}}`] : []),
    ...(body ? [body[1]] : []),
    ...(keyed ? ['keyed=True', 'key=idempotency_key'] : []),
    ...(matched ? ['match=if_match'] : []),
    'timeout=timeout',
  ]
  const [define, give] = isAsync ? ['async def', 'return await'] : ['def', 'return']
  return `    ${define} ${snake(operationId)}(${given.join(', ')}) -> ${type}:\n        """${summary}"""\n        ${give} self._call(${passed.join(', ')})\n`
}

/** Returns the parameters of a list's query without the cursor. */
function queryOf({ operation: { operationId, parameters = [] } }: Made, classes: Classes): string {
  const queries = parameters.filter((one) => one.in === 'query')
  if (!queries.some(({ name }) => name === 'cursor')) return ''
  const fields = queries
    .filter(({ name }) => name !== 'cursor')
    .map(
      ({ name, schema }) =>
        `    ${name}: Optional[${typeOf(schema, `${capitalized(operationId)}${capitalized(name)}`, classes)}]\n`,
    )
  return `class ${capitalized(operationId)}Query(TypedDict, total=False):\n${fields.join('')}\n\n`
}

/** Returns the text of api_generated.py. */
export function pythonOperations(openapi: string): string {
  const { paths, components } = JSON.parse(openapi) as Document
  const classes: Classes = new Map()
  const aliases: string[] = []
  for (const [name, schema] of Object.entries(components.schemas))
    if (schema.properties && !schema.anyOf) addClass(schema, name, classes)
    else aliases.push(`${name} = ${typeOf(schema, name, classes)}\n`)
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(PREFIX))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]): Made => ({ path: path.slice(PREFIX.length), method, operation }),
      ),
    )
    .filter(({ operation }) => !STREAMS.includes(operation.operationId))
  const of = (isAsync: boolean): string => operations.map((one) => methodOf(one, isAsync, classes)).join('\n')
  const [plain, later] = [of(false), of(true)]
  return `"""Every operation of the interface, with its types. Generated by "npm run gen" from openapi.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

from .place import files, segment

if TYPE_CHECKING:
    from typing_extensions import NotRequired, Unpack

    from .options import Called

${[...classes.values()].join('\n\n')}

${operations.map((one) => queryOf(one, classes)).join('')}${aliases.join('')}

class Operations:
    """One method for each operation: the names in its path, its body, then its query by name."""

    def _call(self, method: str, path: str, reads: str, **given: Unpack[Called]) -> Any:
        raise NotImplementedError

${plain}

class AsyncOperations:
    """The methods of Operations, to be awaited."""

    async def _call(self, method: str, path: str, reads: str, **given: Unpack[Called]) -> Any:
        raise NotImplementedError

${later}`
}
