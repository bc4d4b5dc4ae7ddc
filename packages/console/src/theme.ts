/** Light, dark, or what the system says. The choice is no secret and outlives the session. */
export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'assay.theme'

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === kept) ?? 'system'
}

/** All colours of the style sheets are pairs: which of each is shown follows from this one property. */
export function applyTheme(theme: Theme): void {
  document.documentElement.style.colorScheme = theme === 'system' ? '' : theme
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme(theme)
}
