/**
 * Serves bare Fastify with one route. `status JSON`: answers with that object. `insert FILE`: makes one INSERT for
 * each POST, committed with an fsync before the answer. Its first message is its address.
 */
import { DatabaseSync } from 'node:sqlite'
import { fastify } from 'fastify'

const [kind, argument] = process.argv.slice(2)
const app = fastify({ logger: false })

if (kind === 'status') {
  const answer = JSON.parse(argument!) as object
  app.get('/status', () => answer)
} else {
  const db = new DatabaseSync(argument!)
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE jobs (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT',
  )
  const insert = db.prepare('INSERT INTO jobs VALUES (?, ?)')
  app.post('/jobs', (request) => {
    const id = crypto.randomUUID()
    insert.run(id, JSON.stringify(request.body))
    return { id }
  })
}
process.send!(await app.listen({ host: '127.0.0.1', port: 0 }))
process.on('disconnect', () => process.exit())
