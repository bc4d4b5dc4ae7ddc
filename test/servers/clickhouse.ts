/**
 * A real ClickHouse for tests: the one that ASSAY_TEST_CLICKHOUSE names, http://USER:PASSWORD@HOST:PORT/DATABASE (a
 * user who may create tables there, and who serves this test alone). Without it the tests that need one are skipped.
 * bench/peers/clickhouse.ts runs its engine without a server.
 */
export function missingClickhouse(): string | null {
  return process.env.ASSAY_TEST_CLICKHOUSE ? null : 'no ClickHouse: ASSAY_TEST_CLICKHOUSE is not set'
}

export function clickhouseServer(): { url: string; user: string; password: string; database: string } {
  const given = new URL(process.env.ASSAY_TEST_CLICKHOUSE!)
  return {
    url: `${given.origin}/`,
    user: decodeURIComponent(given.username) || 'default',
    password: decodeURIComponent(given.password),
    database: given.pathname.slice(1) || 'default',
  }
}
