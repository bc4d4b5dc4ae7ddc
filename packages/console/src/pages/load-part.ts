/** Loads parts of the console that the first page does not need. */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'

const AGAIN_MS = 700

/** Loads a part, and tries once more, because a busy service or a bad network may drop one request. */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    return load()
  }
}

type Props<Part> = Part extends ComponentType<infer Given> ? Given : never

/** Returns a component that is loaded when it is first shown. */
export function lazyPart<Name extends string, Module extends { [Each in Name]: unknown }>(
  load: () => Promise<Module>,
  name: Name,
): LazyExoticComponent<ComponentType<Props<Module[Name]>>> {
  return lazy(async () => ({
    default: (await loadPart(load))[name] as ComponentType<Props<Module[Name]>>,
  }))
}

/** Tells whether the error is that of a part that could not be loaded, as each browser words it. */
export const isPartFault = (error: unknown): boolean =>
  error instanceof TypeError &&
  /dynamically imported module|importing a module script|module script failed/i.test(error.message)
