/** Returns the text of an element. */
import type { ElementContent, Root } from 'hast'

export function textIn(node: ElementContent | Root): string {
  if (node.type === 'text') return node.value
  return 'children' in node ? node.children.map((child) => textIn(child as ElementContent)).join('') : ''
}
