// Runs the queries of the floor in one process. The rows of one delay each are read as there, but not written.
import { DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const results = []
for (const sql of JSON.parse(process.env.REPORT_SQL)) {
  const reader = await connection.runAndReadAll(sql)
  if (reader.columnNames().length > 1) results.push(reader.getRowObjectsJson())
}
process.stdout.write(JSON.stringify(results))
