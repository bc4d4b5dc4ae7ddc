/** Opens the folds around an element, and the element itself if it is one. */
export function unfold(element: Element | null): void {
  for (let at = element?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true
}
