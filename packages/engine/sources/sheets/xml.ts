/** Reads XML as a stream. Names come without their prefix, since programs choose prefixes freely. */
import { SaxesParser } from 'saxes'

export interface Element {
  name: string
  /** The attributes by name, without prefix. */
  attributes: Record<string, string>
}

export interface Listener {
  open?(element: Element): void
  /** Hears a text, which may come in several pieces. */
  text?(text: string): void
  close?(name: string): void
}

const bare = (name: string): string => name.slice(name.indexOf(':') + 1)

/** The deepest nesting of elements. A workbook has a dozen levels. */
const DEPTH_MOST = 1_000

/**
 * Reads XML. Yields after each piece, so that a reader can take what the listener has heard. Throws Error if the text
 * is no XML.
 */
export async function* listen(bytes: AsyncIterable<Buffer>, listener: Listener): AsyncGenerator<void> {
  // The parser refuses entities that the document defines itself, so none can expand.
  const parser = new SaxesParser({ position: false })
  let depth = 0
  parser.on('opentag', ({ name, attributes }) => {
    depth += 1
    if (depth > DEPTH_MOST) throw new Error(`it has more than ${DEPTH_MOST} elements within each other`)
    const own: Record<string, string> = Object.create(null)
    for (const [key, value] of Object.entries(attributes as Record<string, string>)) own[bare(key)] = value
    listener.open?.({ name: bare(name), attributes: own })
  })
  if (listener.text) parser.on('text', (text) => listener.text!(text))
  parser.on('closetag', ({ name }) => {
    depth -= 1
    listener.close?.(bare(name))
  })
  const decoder = new TextDecoder('utf-8')
  for await (const piece of bytes) {
    parser.write(decoder.decode(piece, { stream: true }))
    yield
  }
  parser.write(decoder.decode()).close()
  yield
}

/** Reads a whole part with a listener. */
export async function hear(bytes: AsyncIterable<Buffer>, listener: Listener): Promise<void> {
  for await (const _ of listen(bytes, listener));
}
