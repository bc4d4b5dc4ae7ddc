/** A stream that passes its bytes on and hashes them. */
import type { Hash } from 'node:crypto'
import { Transform } from 'node:stream'

export function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
}
