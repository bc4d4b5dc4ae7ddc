/**
 * Arrays as parameters of a statement. The driver writes each text of an array quoted and escaped, and the database reads it
 * back letter by letter; in the binary form, which the driver takes as a buffer, both only copy.
 */
const TEXT = 25

/** text[] */
export function textArray(values: readonly (string | null)[]): Buffer {
  const sizes = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)))
  const size = sizes.reduce((sum, one) => sum + 4 + Math.max(0, one), values.length > 0 ? 20 : 12)
  const buffer = Buffer.allocUnsafe(size)
  let end = buffer.writeInt32BE(values.length > 0 ? 1 : 0, 0)
  end = buffer.writeInt32BE(sizes.includes(-1) ? 1 : 0, end)
  end = buffer.writeInt32BE(TEXT, end)
  if (values.length === 0) return buffer
  end = buffer.writeInt32BE(values.length, end)
  end = buffer.writeInt32BE(1, end)
  for (const [index, value] of values.entries()) {
    end = buffer.writeInt32BE(sizes[index]!, end)
    if (value !== null) end += buffer.write(value, end)
  }
  return buffer
}

/** Of any type of numbers. */
export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}
