/** The methods that an analysis block may name. Each stands in a file of its own; this is the one list of them. */
import type { Method } from './method.ts'

const LIST: readonly Method[] = []

export const METHODS: Record<string, Method> = Object.fromEntries(LIST.map((method) => [method.name, method]))
