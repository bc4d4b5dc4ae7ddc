/**
 * Loaded into each test file before it (test/run.ts): ends a file that still runs after its limit, and says what keeps it
 * alive. The limit of node:test fails the test that hangs, but leaves its process running for as long as anything is open.
 */
const { ASSAY_TEST_LIMIT_MS } = process.env

/** Processes and threads that a test starts load this file as well, and have no limit. */
delete process.env.ASSAY_TEST_LIMIT_MS

if (ASSAY_TEST_LIMIT_MS !== undefined) {
  const limit = Number(ASSAY_TEST_LIMIT_MS)
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    process.stderr.write(`The file still runs after ${limit / 1000} s. What is open: ${open}.\n`)
    process.exit(1)
  }, limit).unref()
}
