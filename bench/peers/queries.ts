/** Runs the statements of a JSON list with DuckDB in a cold process and ends. This is the floor of any report. */
import { DuckDBInstance } from '@duckdb/node-api'

const statements = JSON.parse(process.argv[2]!) as string[]
const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
const connection = await instance.connect()
let rows = 0
for (const statement of statements) rows += (await (await connection.stream(statement)).getRowsJS()).length
process.stdout.write(`${rows}\n`)
