/** The tests of isolation.test.ts on PostgreSQL, whose statements are its own. */
process.env.ASSAY_TEST_STORE = 'postgres'
await import('./isolation.test.ts')
