/**
 * Opens the folded target of a link within a page before the page goes there. The shared page runs this text
 * (`packages/engine/pages/answer.generated.ts`), so this file imports nothing.
 */

export function answerAnchors(page: Document): void {
  page.addEventListener('click', ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href^="#"]') : null
    const place = link && page.getElementById(decodeURIComponent(link.hash.slice(1)))
    for (let at = place?.parentElement; at; at = at.parentElement)
      if (at instanceof HTMLDetailsElement) at.open = true
    if (place instanceof HTMLDetailsElement) place.open = true
  })
}
