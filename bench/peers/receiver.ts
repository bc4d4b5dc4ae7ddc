/** A fast receiver: answers 204 to every POST once its body is there. A message asks how many came since the last. */
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
