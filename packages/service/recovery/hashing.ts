/** A stream that passes on what it gets, and hashes it on the way. */
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
