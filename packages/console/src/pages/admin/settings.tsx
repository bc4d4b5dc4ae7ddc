/** The page of the settings of this node as they were resolved. The service hides secrets. */
import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { api } from '../../api.ts'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Loaded } from '../../parts/page.tsx'

/** Shows the name of a setting. A long name breaks after an underscore. */
function SettingName({ env }: { env: string }) {
  return (
    <code>
      {env.split(/(?<=_)/).map((part) => (
        <Fragment key={part}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </code>
  )
}

export function SettingsPage() {
  const [words, setWords] = useState('')
  const query = useQuery({ queryKey: ['settings'], queryFn: () => api().settings() })
  return (
    <section>
      <h2>Settings</h2>
      <p className="small">
        These are the settings of the node that answered. Environment variables or flags set them when it
        starts.
      </p>
      <div className="filters">
        <TextField
          label="Search"
          type="search"
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
      </div>
      <Loaded query={query}>
        {({ items }) => (
          <ListTable columns={['Setting', 'Value', 'From', 'What it does']}>
            {items
              .filter(({ env, doc }) => `${env} ${doc}`.toLowerCase().includes(words.toLowerCase()))
              .map(({ env, value, origin, doc }) => (
                <tr key={env}>
                  <td>
                    <SettingName env={env} />
                  </td>
                  <td>{value !== '' && <code>{value}</code>}</td>
                  <td>{origin}</td>
                  <td className="small">{doc}</td>
                </tr>
              ))}
          </ListTable>
        )}
      </Loaded>
    </section>
  )
}
