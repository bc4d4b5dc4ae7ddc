/** The page of the event types, each with an example. */
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { Loaded } from '../../parts/page.tsx'
import { Code } from '../../parts/text/code.tsx'

/** Shows names between backticks as code. */
const withNames = (text: string) =>
  text.split('`').map((part, nth) => (nth % 2 === 1 ? <code key={part}>{part}</code> : part))

export function EventTypesPage() {
  const query = useQuery({ queryKey: ['event-types'], queryFn: () => api().events.types() })
  return (
    <section>
      <h2>Event types</h2>
      <Loaded query={query}>
        {(types) => (
          <>
            {types.map(({ type, description, example, schema }) => (
              <details className="block" key={type}>
                <summary>
                  <code>{type}</code>
                  <span className="small">{withNames(description)}</span>
                </summary>
                <p>An example of the body that is sent:</p>
                <Code text={JSON.stringify(example, null, 2)} />
                <p>Its JSON Schema:</p>
                <Code text={JSON.stringify(schema, null, 2)} />
              </details>
            ))}
          </>
        )}
      </Loaded>
    </section>
  )
}
