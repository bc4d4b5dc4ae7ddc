/**
 * Writes the processor time of each test file to a list when the file ends, with that of the processes that it
 * started and waited for. Each test file loads this before itself (test/run.ts).
 */
import { appendFileSync } from 'node:fs'
import { processorMsOf } from '../packages/engine/run/pool/meter.ts'

const { ASSAY_TEST_TIMES } = process.env

/** Processes and threads that a test starts load this file too, and must write nothing. */
delete process.env.ASSAY_TEST_TIMES

if (ASSAY_TEST_TIMES !== undefined) {
  process.on('exit', () => {
    const ms = processorMsOf([process.pid]) ?? process.cpuUsage().user / 1000
    appendFileSync(ASSAY_TEST_TIMES, `${JSON.stringify({ file: process.argv[1], ms })}\n`)
  })
}
