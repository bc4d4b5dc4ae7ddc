/**
 * Passwords of eight characters and more that stand first in published lists of guesses, and words that these lists
 * follow with digits. All are in lower case.
 */
export const COMMON: ReadonlySet<string> = new Set(
  `
password passwort passw0rd p@ssword p@ssw0rd pa55word baseball football basketball softball michelle jennifer trustno1
sunshine starwars superman princess computer whatever internet mercedes bigdaddy corvette steelers victoria metallica
metallic liverpool midnight startrek redskins mountain nicholas qwertyui qwertyuiop qwertzui qwertzuiop asdfghjk
asdfghjkl asdfasdf zxcvbnm, 1qaz2wsx 1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 qwer1234 1234qwer asdf1234 abcd1234
a1b2c3d4 abcdefgh abcdefg1 abc12345 abc123456 aa123456 aa12345678 qwerty12 qwerty123 qwerty1234 qwerty12345 12345qwerty
123qweasd qweasdzxc 1234abcd 12345678 123456789 1234567890 0123456789 01234567 87654321 987654321 9876543210 0987654321
11223344 1122334455 12344321 123454321 123123123 147258369 159357456 741852963 789456123 password1 password12
password123 passwort1 admin123 admin1234 administrator root1234 welcome1 welcome123 letmein1 letmein123 iloveyou
iloveyou1 changeme changeme1 changeme123 default1 dragon123 monkey123 master123 jonathan danielle samantha benjamin
alexander alexandra christopher stephanie elizabeth charlotte jessica1 michael1 jordan23 lovelove secret123 security
test1234 testtest testing1 testtesting demo1234 guest123 user1234 login123 service1 system32 windows10 microsoft
facebook linkedin pokemon1 minecraft spiderman superstar butterfly chocolate sunflower rainbow1 snowball blink182
cocacola samsung1 hello123 hellohello helloworld zaq12wsx zaq1zaq1 1qazxsw2 !qaz2wsx asdfjkl; azertyui azertyuiop
motdepasse contrasena hallo123 schatz123 sommer2023 sommer2024 summer2023 summer2024 summer2025 winter2023 winter2024
winter2025 spring2024 spring2025 autumn2024 monday123 friday123 january1 correcthorsebatterystaple assay123 assayassay
`
    .trim()
    .split(/\s+/u),
)
