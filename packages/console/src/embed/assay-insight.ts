/**
 * Defines the element `<assay-insight src="ADDRESS">` for other sites. It shows the page of a link in a frame that is
 * as high as the page and has the site's colours. The service serves this text as /embed.js
 * (`packages/service/api/pages/embed.generated.ts`), so this file imports nothing.
 */

const THEMES = ['text', 'soft', 'page', 'line', 'shade', 'link', 'good', 'bad', 'font']
const FIRST_HEIGHT = 480
const HIGHEST = 30_000

class AssayInsight extends HTMLElement {
  static readonly observedAttributes = ['src', 'label']
  readonly #frame = document.createElement('iframe')
  readonly #answer = (event: MessageEvent): void => this.#heard(event)

  constructor() {
    super()
    const frame = this.#frame
    // Scripts of the page run without its origin. A table can be saved, a link opens beside.
    frame.setAttribute('sandbox', 'allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox')
    frame.setAttribute('referrerpolicy', 'no-referrer')
    frame.loading = 'lazy'
    frame.style.cssText = `display: block; width: 100%; height: ${FIRST_HEIGHT}px; border: 0; color-scheme: normal;`
    this.attachShadow({ mode: 'open' }).append(frame)
  }

  connectedCallback(): void {
    this.style.display ||= 'block'
    window.addEventListener('message', this.#answer)
    this.attributeChangedCallback()
  }

  disconnectedCallback(): void {
    window.removeEventListener('message', this.#answer)
  }

  attributeChangedCallback(): void {
    this.#frame.title = this.getAttribute('label') ?? 'A report'
    const src = this.getAttribute('src') ?? ''
    const address = URL.canParse(src) ? new URL(src).href : ''
    if (!/^https?:/.test(address)) return this.#frame.removeAttribute('src')
    if (this.#frame.src !== address) this.#frame.src = address
  }

  #heard({ source, data }: MessageEvent): void {
    const frame = this.#frame
    if (source !== frame.contentWindow) return
    const given = data as { assay?: unknown; height?: unknown } | null
    if (given?.assay === 'height' && typeof given.height === 'number')
      frame.style.height = `${Math.min(HIGHEST, Math.max(80, given.height))}px`
    if (given?.assay === 'ready')
      frame.contentWindow?.postMessage({ assay: 'theme', theme: this.#theme() }, '*')
  }

  /** The custom properties `--assay-text` and so on, of the element or of what it stands in. */
  #theme(): Record<string, string> {
    const style = getComputedStyle(this)
    const values = THEMES.map((name) => [name, style.getPropertyValue(`--assay-${name}`).trim()])
    return Object.fromEntries(values.filter(([, value]) => value !== ''))
  }
}

if (!customElements.get('assay-insight')) customElements.define('assay-insight', AssayInsight)
