/**
 * Loaded into each test file before it (test/run.ts): when the file ends, its processor time is written to a list, with
 * that of the processes that it started and waited for.
 */
import { appendFileSync } from 'node:fs'
import { processorMsOf } from '../packages/engine/run/pool/meter.ts'

const { ASSAY_TEST_TIMES } = process.env

/** Processes and threads that a test starts load this file as well, and write nothing. */
delete process.env.ASSAY_TEST_TIMES

if (ASSAY_TEST_TIMES !== undefined) {
  process.on('exit', () => {
    const ms = processorMsOf([process.pid]) ?? process.cpuUsage().user / 1000
    appendFileSync(ASSAY_TEST_TIMES, `${JSON.stringify({ file: process.argv[1], ms })}\n`)
  })
}
