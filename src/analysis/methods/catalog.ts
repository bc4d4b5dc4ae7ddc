/** The methods that an analysis block may name. Each stands in a file of its own; this is the one list of them. */
import { compare } from './compare.ts'
import { describe } from './describe.ts'
import type { Method } from './method.ts'
import { profile } from './profile.ts'

const LIST: readonly Method[] = [describe, profile, compare]

export const METHODS: Record<string, Method> = Object.fromEntries(LIST.map((method) => [method.name, method]))
