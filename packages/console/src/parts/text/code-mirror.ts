/**
 * Sets up CodeMirror for templates: front matter as YAML, text as Markdown, fences as SQL or YAML, Liquid marked in
 * all of them. It lives in a shadow root, where its styles are adopted style sheets, which the Content-Security-Policy
 * allows. In the page it would need style elements.
 */

import type { Fault } from '@assay/model/template'
import { autocompletion, type CompletionContext, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { markdown } from '@codemirror/lang-markdown'
import { PostgreSQL } from '@codemirror/lang-sql'
import { yamlFrontmatter, yamlLanguage } from '@codemirror/lang-yaml'
import { syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Extension } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { completionAt } from './completion.ts'

const THEME = EditorView.theme({
  '&': { fontSize: '0.875rem', color: 'var(--ink)', backgroundColor: 'var(--shade)', borderRadius: '6px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)', padding: '0.75rem 0' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--quiet)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--accent-wash)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--paper)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    maxWidth: '32rem',
  },
  '.cm-tooltip.cm-tooltip-autocomplete': { borderRadius: '6px', overflow: 'hidden' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.2rem 0.6rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-wash)',
    color: 'var(--ink)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'var(--quiet)' },
  '.cm-liquid, .cm-liquid *': { color: 'var(--good)' },
  '.tok-heading': { fontWeight: '700' },
  '.tok-strong': { fontWeight: '700' },
  '.tok-emphasis': { fontStyle: 'italic' },
  '.tok-keyword, .tok-operatorKeyword': { color: 'var(--token-keyword)' },
  '.tok-string, .tok-string2': { color: 'var(--token-string)' },
  '.tok-number, .tok-bool, .tok-atom': { color: 'var(--token-number)' },
  '.tok-propertyName, .tok-definition': { color: 'var(--token-number)' },
  '.tok-comment, .tok-meta': { color: 'var(--quiet)' },
})

const liquid = new MatchDecorator({
  regexp: /\{\{.*?\}\}|\{%.*?%\}/g,
  decoration: Decoration.mark({ class: 'cm-liquid' }),
})

const liquidMarks = ViewPlugin.fromClass(
  class {
    marks: DecorationSet
    constructor(view: EditorView) {
      this.marks = liquid.createDeco(view)
    }
    update(update: ViewUpdate): void {
      this.marks = liquid.updateDeco(update, this.marks)
    }
  },
  { decorations: (plugin) => plugin.marks },
)

/** Replaces the whole text. One undo restores it. */
export function replaceAll(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, scrollIntoView: false })
}

function grammarOf(info: string) {
  if (/^sql\b/.test(info)) return PostgreSQL.language
  return /^(analysis|ya?ml)\b/.test(info) ? yamlLanguage : null
}

function shared(label: string): Extension[] {
  return [
    lineNumbers(),
    yamlFrontmatter({ content: markdown({ codeLanguages: grammarOf }) }),
    syntaxHighlighting(classHighlighter),
    liquidMarks,
    THEME,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
  ]
}

function mount(host: HTMLElement, source: string, extensions: Extension[]): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  root.replaceChildren()
  const parent = document.createElement('div')
  root.append(parent)
  return new EditorView({ root, parent, state: EditorState.create({ doc: source, extensions }) })
}

/** Mounts a read-only editor. */
export function mountReader(host: HTMLElement, source: string, label: string): EditorView {
  return mount(host, source, [
    ...shared(label),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({
      tabindex: '0',
      role: 'textbox',
      'aria-multiline': 'true',
      'aria-readonly': 'true',
    }),
  ])
}

/** Resolves to the columns of the sources of a text, as far as they can be known. */
export type ColumnsOf = (source: string) => Promise<readonly string[]>

function completion(columnsOf: ColumnsOf): Extension {
  const complete = async (context: CompletionContext) => {
    const source = context.state.doc.toString()
    const wanted = context.explicit || context.matchBefore(/[\w|.]$/)
    if (!wanted) return null
    const found = completionAt(source, context.pos, await columnsOf(source))
    return found && { from: found.from, options: found.words, validFor: /^\w*$/ }
  }
  return [autocompletion({ override: [complete], icons: false }), keymap.of(completionKeymap)]
}

/** Mounts an editor. Escape and then Tab leaves it by keyboard. Tab alone does too, because it is not bound. */
export function mountEditor(
  host: HTMLElement,
  source: string,
  label: string,
  onChange: (source: string) => void,
  columnsOf?: ColumnsOf,
): EditorView {
  return mount(host, source, [
    ...shared(label),
    history(),
    ...(columnsOf ? [completion(columnsOf)] : []),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    lintGutter(),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString())
    }),
  ])
}

/** Marks the faults at their positions. Faults of a partial are marked at the top. */
export function showFaults(view: EditorView, faults: readonly Fault[]): void {
  const { doc } = view.state
  const diagnostics = faults.map(({ line, column, message, remedy, severity, partial }): Diagnostic => {
    const place = doc.line(Math.min(Math.max(partial === null ? line : 1, 1), doc.lines))
    const from = Math.min(place.from + Math.max(column - 1, 0), place.to)
    return { from, to: Math.max(place.to, from), severity, message: `${message} ${remedy}` }
  })
  view.dispatch(setDiagnostics(view.state, diagnostics))
}

export function goToLine(view: EditorView, line: number, column: number): void {
  const place = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines))
  view.dispatch({
    selection: { anchor: Math.min(place.from + Math.max(column - 1, 0), place.to) },
    scrollIntoView: true,
  })
  view.focus()
}
