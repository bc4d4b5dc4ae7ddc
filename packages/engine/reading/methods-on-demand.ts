/**
 * The catalog of methods for processes that run templates. Its 180 files are a quarter of what such a process loads, so they are
 * loaded with the first template that has an analysis, or ahead by a process that waits for work.
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import type { Template } from '@assay/model/template'
import type * as Catalog from '../methods/catalog.ts'

type Methods = typeof Catalog.METHODS

const require = createRequire(import.meta.url)
const NONE: Methods = {}

export function catalogOfMethods(): Methods {
  return (require(`../methods/catalog${path.extname(import.meta.filename)}`) as typeof Catalog).METHODS
}

/** Returns the methods that the analyses of a template may name; empty if it has no analysis. */
export function methodsFor({ blocks }: Pick<Template, 'blocks'>): Methods {
  return blocks.some(({ kind }) => kind === 'analysis') ? catalogOfMethods() : NONE
}
