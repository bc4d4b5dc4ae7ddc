/** Runs the tests of isolation.test.ts on PostgreSQL, which has statements of its own. */
process.env.ASSAY_TEST_STORE = 'postgres'
await import('./isolation.test.ts')
