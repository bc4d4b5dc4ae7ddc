/** The list of all keys, opened by "?". */
import { Dialog } from '../dialog.tsx'

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent)

const KEYS: [group: string, keys: [key: string, does: string][]][] = [
  [
    'Everywhere',
    [
      [IS_APPLE ? '⌘ K' : 'Ctrl K', 'Go to a page, an insight, a template or a run'],
      ['/', 'Search on this page'],
      ['?', 'Show these keys'],
      ['Esc', 'Close what is open'],
      ['Tab', 'Go on to the next link, button or field'],
    ],
  ],
  [
    'Go to, one key after the other',
    [
      ['G I', 'Insights'],
      ['G T', 'Templates'],
      ['G M', 'Metrics'],
      ['G J', 'Jobs'],
      ['G S', 'Schedules'],
      ['G H', 'Health'],
    ],
  ],
  [
    'On a chart',
    [
      ['← →', 'The values before and after'],
      ['Home End', 'The first and the last values'],
    ],
  ],
]

export function Shortcuts({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" description="Every page works without a mouse." open onClose={onClose}>
      {KEYS.map(([group, keys]) => (
        <section key={group} className="keys">
          <h3>{group}</h3>
          <dl>
            {keys.map(([key, does]) => (
              <div key={key}>
                <dt>
                  {key.split(' ').map((one) => (
                    <kbd key={one}>{one}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
