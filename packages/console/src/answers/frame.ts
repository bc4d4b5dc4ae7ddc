/**
 * Adapts a page in a frame of another site: it reports its height to the site, and takes colours and font from it. A
 * dark colour of the page brings the dark colours of charts. The shared page runs this text
 * (`packages/engine/pages/answer.generated.ts`), so this file imports nothing.
 */

/** The names that the element `assay-insight` sends, and the properties of the page that they set. */
const THEME: Record<string, string> = {
  text: '--ink',
  soft: '--quiet',
  page: '--paper',
  line: '--line',
  shade: '--shade',
  link: '--accent',
  good: '--good',
  bad: '--bad',
}

/** Tells whether white letters stand out from a colour better than black ones. */
function isDark(color: string): boolean {
  const [red = 255, green = 255, blue = 255] = (color.match(/[\d.]+/g) ?? []).map(Number)
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128
}

/** Adapts the page to its frame. Does nothing in a page without a frame. */
export function answerFrame(view: Window): void {
  if (view.parent === view) return
  const { documentElement: root, body } = view.document
  root.classList.add('framed')
  const tell = (message: object): void => view.parent.postMessage(message, '*')
  new ResizeObserver(() =>
    tell({ assay: 'height', height: Math.ceil(body.getBoundingClientRect().height) }),
  ).observe(body)
  view.addEventListener('message', ({ source, data }: MessageEvent) => {
    const given = data as { assay?: unknown; theme?: Record<string, unknown> } | null
    if (source !== view.parent || given?.assay !== 'theme' || typeof given.theme !== 'object') return
    for (const [name, value] of Object.entries(given.theme)) {
      if (typeof value !== 'string') continue
      const property = Object.hasOwn(THEME, name) ? THEME[name] : undefined
      if (property !== undefined && CSS.supports('color', value)) root.style.setProperty(property, value)
      if (name === 'font' && CSS.supports('font-family', value)) body.style.fontFamily = value
    }
    if (typeof given.theme.page === 'string')
      root.dataset.theme = isDark(view.getComputedStyle(body).backgroundColor) ? 'dark' : 'light'
  })
  tell({ assay: 'ready' })
}
