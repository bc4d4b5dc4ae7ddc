/**
 * A fast receiver: it answers 204 to every POST once the body is there. A message asks for the number of requests
 * since the last one.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let came = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    came += 1
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on('message', () => {
  process.send!(came)
  came = 0
})
process.on('disconnect', () => process.exit())
