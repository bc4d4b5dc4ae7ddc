/**
 * A real MariaDB or MySQL for tests: the one that ASSAY_TEST_MYSQL names, mysql://USER:PASSWORD@HOST:PORT/DATABASE (a
 * user who may create tables there, and who serves this test alone). Without it the tests that need one are skipped.
 */
export function missingMysql(): string | null {
  return process.env.ASSAY_TEST_MYSQL ? null : 'no MariaDB or MySQL: ASSAY_TEST_MYSQL is not set'
}

export function mysqlUrl(): URL {
  return new URL(process.env.ASSAY_TEST_MYSQL!)
}
