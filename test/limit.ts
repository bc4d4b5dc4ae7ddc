/**
 * Ends a test file that still runs after its limit, and prints what keeps it alive. Each test file loads this before
 * itself (test/run.ts). The limit of node:test fails a test that hangs, but leaves its process running for as long as
 * anything is open.
 */
const { ASSAY_TEST_LIMIT_MS } = process.env

/** Processes and threads that a test starts load this file too, and must have no limit. */
delete process.env.ASSAY_TEST_LIMIT_MS

if (ASSAY_TEST_LIMIT_MS !== undefined) {
  const limit = Number(ASSAY_TEST_LIMIT_MS)
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    process.stderr.write(`The file still runs after ${limit / 1000} s. What is open: ${open}.\n`)
    process.exit(1)
  }, limit).unref()
}
