/**
 * Loaded into each test file before it (test/run.ts): ends a file that still runs after its limit, and says what keeps it
 * alive. The limit of node:test fails the test that hangs, but leaves its process running for as long as anything is open.
 */
const LIMIT_MS = Number(process.env.ASSAY_TEST_LIMIT_MS)

setTimeout(() => {
  const open = process.getActiveResourcesInfo().join(', ')
  process.stderr.write(`The file still runs after ${LIMIT_MS / 1000} s. What is open: ${open}.\n`)
  process.exit(1)
}, LIMIT_MS).unref()
