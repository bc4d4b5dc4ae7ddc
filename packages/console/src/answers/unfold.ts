/** Opens what is folded around an element, and the element itself if it folds. */
export function unfold(element: Element | null): void {
  for (let at = element?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true
}
