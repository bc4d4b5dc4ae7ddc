/** The gallery in a process of its own, for gallery.test.ts: sends the Markdown of each run to its parent. */
import { readable, runGallery, withPool } from './gallery.ts'

const found = await withPool((pool) => runGallery(pool))
process.send!(Object.fromEntries(Object.entries(found).map(([name, findings]) => [name, readable(findings)])))
