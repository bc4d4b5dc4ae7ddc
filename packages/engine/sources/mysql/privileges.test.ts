import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privilegesOf } from './privileges.ts'

test('what a user of MySQL or MariaDB can do beyond reading is read from its grants', () => {
  const cases: Record<string, string[]> = {
    "GRANT USAGE ON *.* TO `reader`@`%` IDENTIFIED BY PASSWORD '*94BDC'": [],
    'GRANT SELECT, INSERT, SHOW VIEW ON `shop`.* TO `reader`@`%`': [],
    'GRANT SELECT (`a`, `b`) ON `shop`.`orders` TO `reader`@`%`': [],
    'GRANT `analyst`@`%` TO `reader`@`%`': [],
    'GRANT ALL PRIVILEGES ON `shop`.* TO `reader`@`%`': [],
    "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` IDENTIFIED VIA mysql_native_password USING '' WITH GRANT OPTION":
      ['has all privileges on every database', 'can grant its rights to others (GRANT OPTION)'],
    'GRANT SELECT, FILE, REPLICATION SLAVE ON *.* TO `reader`@`%`': [
      "can read and write the server's files (FILE)",
      'can replicate (REPLICATION SLAVE)',
    ],
    'GRANT BINLOG ADMIN, READ_ONLY ADMIN, REPLICATION MASTER ADMIN ON *.* TO `reader`@`%`': [
      'can remove the log of changes (BINLOG ADMIN)',
      'can write to a server that only reads (READ_ONLY ADMIN)',
      'can control replication (REPLICATION MASTER ADMIN)',
    ],
    'GRANT SELECT ON `mysql`.* TO `reader`@`%`': [],
    'GRANT SELECT, UPDATE ON `mysql`.* TO `reader`@`%`': ['can change users and their rights (mysql.*)'],
    'GRANT SELECT ON `shop`.* TO `reader`@`%` WITH GRANT OPTION': [
      'can grant its rights to others (GRANT OPTION)',
    ],
  }
  for (const [grant, expected] of Object.entries(cases)) assert.deepEqual(privilegesOf([grant]), expected)
})
