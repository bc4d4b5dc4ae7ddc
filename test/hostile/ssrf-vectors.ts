/**
 * Internal addresses in every form that other guards are tested with (stripe/smokescreen, svix, convoy,
 * doyensec/safeurl, request-filtering-agent, ssrf-req-filter), and in forms that none of them is tested with.
 */

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

export const FORBIDDEN_ADDRESSES = {
  loopback: words('0.0.0.0 0.1.2.3 127.0.0.1 127.0.0.254 127.127.127.127 127.255.255.255 :: ::1'),
  private: words(`10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255
    100.64.0.0 100.64.0.1 100.127.255.254 100.127.255.255 fc00::1 fdff::1 fec0::1`),
  // Azure's address is a public one.
  metadata:
    words(`169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254
    169.254.0.1 fe80::1 febf:ffff::`),
  reserved:
    words(`192.0.0.1 192.0.2.1 192.88.99.3 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
    239.255.255.255 240.0.0.1 255.255.255.255 ff02::2 3fff::1 5f00::1 100::1 2001:db8::1 2001:2::1`),
  // ipaddr.js calls these addresses unicast.
  'outside 2000::/3': words('::2 1000::1 4000::1 100:0:0:1::1 6000::1 e000::1 64:ff9c::1'),
  mapped: words('::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe'),
  'compatible and translated': words('::127.0.0.1 ::7f00:1 ::ffff:0:127.0.0.1 ::ffff:0:7f00:1'),
  nat64: words('64:ff9b::a9fe:a9fe 64:ff9b::c0a8:0 64:ff9b::7f00:1 64:ff9b::ffff:ffff 64:ff9b:1::7f00:1'),
  '6to4, Teredo, ISATAP':
    words(`2002:a00:1::1 2002:c0a8:1:: 2002:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
    2001:0:7f00:1:: 2a00:1450::5efe:127.0.0.1 2a00:1450::200:5efe:10.0.0.1`),
  'not canonical': words(`localhost 127.1 0x7f.1 0177.0.0.1 2130706433 08.8.8.8 fe80::1%eth0 ::1%lo 8.8.8.8:80
    [2606:4700::1] 1.2.3 1.2.3.4.5 256.1.1.1`),
}

export const ALLOWED_ADDRESSES =
  words(`8.8.8.8 1.1.1.1 100.63.255.254 100.128.0.1 172.15.255.255 172.32.0.0 192.169.0.1
  11.0.0.0 9.255.255.255 126.255.255.255 128.0.0.1 223.255.255.255 169.253.1.1 2606:4700:4700::1111
  2a00:1450:4001:80b::200e 2001:4860:4860::8888 ::ffff:8.8.8.8 ::ffff:808:808`)

/** Hosts that a URL parser turns into an internal address (measured on Node 24), and tricks of the authority of a URL. */
const FORBIDDEN_HOSTS = {
  'numbers of every base':
    words(`2130706433 0x7f000001 0x7f.1 0177.0.0.1 0177.0x0.0x0.0x1 0x7f.0x0.0x0.0x01 017700000001
    127.1 0 0251.00376.000251.0000376 0xA9FEA9FE 2852039166`),
  'repaired text': words('127%2e0%2e0%2e1 %31%32%37.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1 １２７.0.0.1 127.0.0.1.'),
  plain: words('127.0.0.1 169.254.169.254 10.0.0.1 192.168.1.1 168.63.129.16 100.100.100.200'),
  ipv6: words(`[::1] [::] [::]:80 [::ffff:127.0.0.1] [::127.0.0.1] [0:0:0:0:0:ffff:127.0.0.1] [fd00::1] [64:ff9b::127.0.0.1]
    [2002:7f00:1::] [1000::1]`),
  'zones and brackets': words('[::1%lo] [fe80::1%25eth0] [127.0.0.1]'),
  names:
    words(`localhost LOCALHOST localhost. a.localhost localhost:8080 metadata.google.internal metadata redis
    db.internal printer.local router.lan`),
  'user info': words(`1:2@[::1]:9876 @[::1] 127.1.1.1:80@127.2.2.2:80 a.com@127.0.0.1 127.0.0.1@example.com
    127.1.1.1:80@@127.2.2.2:80 127.1.1.1:80:@@127.2.2.2:80 user:pass@example.com example.com\\@127.0.0.1
    127.0.0.1\\@example.com`),
  ports: words('example.com:0 example.com:65536 example.com:-1 example.com:91337'),
  overflow: words('425.510.425.510 7147006462 0x41414141A9FEA9FE'),
  'empty parts': [...words('. .. a..b example.com. .example.com example.com%00 %00'), ''],
  'white space': ['exa mple.com', 'example.com/a b', 'exa\tmple.com/', '127.0.0.1\n'],
}

export const FORBIDDEN_URLS = Object.values(FORBIDDEN_HOSTS)
  .flat()
  .map((host) => `http://${host}`)

export const FORBIDDEN_TEXTS = [
  ...words(`http:127.0.0.1 http:///127.0.0.1 http:\\\\127.0.0.1 http:/example.com http:example.com //example.com
    example.com https: http:// file:///etc/passwd ftp://example.com/ data:text/plain,x gopher://example.com
    javascript:alert(1) ws://example.com unix:///run/x.sock http+unix://%2Frun%2Fx.sock/`),
  ' http://127.0.0.1',
  '\u00a0https://example.com',
  `https://example.com/${'a'.repeat(2048)}`,
]

export const ALLOWED_URLS =
  words(`https://example.com http://example.com:8080/a?b=c HTTPS://Example.com/ https://8.8.8.8/x
  https://[2606:4700:4700::1111]/ https://🔐.example.com/ https://a-b_c.example.co.uk:007/ http://1.1.1.1
  https://127.0.0.1.nip.io/ https://example.com/@me?to=a@b.c`)
