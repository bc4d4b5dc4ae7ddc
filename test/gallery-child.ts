/** The gallery in a process of its own, for gallery.test.ts: sends the Markdown of each run to its parent. */
import { galleryTasks, readable, runGallery, tasksAt, withPool } from './gallery.ts'

const found = await withPool((pool) => runGallery(pool, { ...galleryTasks(), ...tasksAt(1) }))
process.send!(Object.fromEntries(Object.entries(found).map(([name, findings]) => [name, readable(findings)])))
