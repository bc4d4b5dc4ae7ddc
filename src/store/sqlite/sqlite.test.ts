import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { FakeClock } from '../../runtime/clock.ts'
import { conformance, type Harness } from '../conformance.ts'
import { openStore } from '../open.ts'

async function open(): Promise<Harness> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-store-'))
  const clock = new FakeClock()
  const store = await openStore({ url: '', home, clock, publicUrl: 'https://assay.example' })
  return {
    store,
    now: () => clock.now(),
    async elapse(ms) {
      clock.advance(ms)
    },
    async close() {
      await store.close()
      await rm(home, { recursive: true })
    },
  }
}

conformance('SQLite', open)
