/** Keeps an insight: pinned for oneself, or in collections for all. */
import { useState } from 'react'
import { useIsLimited, useMay } from '../../api.ts'
import { Fault } from '../fault.tsx'
import { Menu, MenuItem } from '../menu.tsx'
import { CollectionsDialog } from './collections.tsx'
import { usePin, usePinned } from './pins.tsx'

export function Keep({ insight_id }: { insight_id: string }) {
  const analyst = useMay('analyst')
  const limited = useIsLimited()
  const pinned = usePinned()?.some((card) => card.insight_id === insight_id) ?? false
  const pin = usePin(insight_id)
  const [open, setOpen] = useState(false)
  if (limited) return null
  return (
    <>
      <Menu label={pinned ? 'Pinned' : 'Keep'}>
        {pinned ? (
          <MenuItem onSelect={() => pin.mutate('no')}>Unpin</MenuItem>
        ) : (
          <>
            <MenuItem
              onSelect={() => pin.mutate('this')}
              more="It stands above the list of insights, for you alone"
            >
              Pin this insight
            </MenuItem>
            <MenuItem
              onSelect={() => pin.mutate('newest')}
              more="Of this report with the same variables but the period"
            >
              Pin the newest run
            </MenuItem>
          </>
        )}
        {analyst && <MenuItem onSelect={() => setOpen(true)}>Collections…</MenuItem>}
      </Menu>
      {pin.isError && <Fault error={pin.error} />}
      {analyst && <CollectionsDialog insight_id={insight_id} open={open} onClose={() => setOpen(false)} />}
    </>
  )
}
