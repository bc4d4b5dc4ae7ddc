/** Makes the id of a new template from its title, so that nobody has to think of one. */

const LONGEST = 60

/** Returns the title in a template's front matter, without the places of variables; empty if it has none. */
function titleIn(source: string): string {
  const [, front = ''] = /^---\n([\s\S]*?)\n---/.exec(source) ?? []
  const [, title = ''] = /^title:[ \t]*(.*)$/m.exec(front) ?? []
  return title.replaceAll(/\{\{.*?\}\}|\{%.*?%\}|\{[\w.]+\}/g, ' ')
}

/** Returns the text in lower-case letters and digits with hyphens between: "Où? 27 %" becomes "ou-27". */
function slug(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '')
}

/** Returns an id that no template has. `wish` comes before the title; both may be empty. */
export function freeId(wish: string, source: string, taken: readonly string[]): string {
  const first = wish || slug(titleIn(source)) || 'report'
  for (let nth = 1; ; nth += 1) {
    const id = nth === 1 ? first : `${first}-${nth}`
    if (!taken.includes(id)) return id
  }
}
