/**
 * The root file system of the image: the libraries that Node and DuckDB need, and the programs that build walls
 * around analyses, from packages of Debian that apt verifies. It has no package manager, and runs no scripts of
 * packages.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sha256Of } from './files.ts'
import type { Target } from './modules.ts'

/** The packages that run, and then those that they need. */
const PACKAGES = [
  'bubblewrap util-linux mount coreutils dash libc6 libgcc-s1 libstdc++6 tzdata base-files ca-certificates',
  'libacl1 libattr1 libblkid1 libcap2 libcap-ng0 libcrypt1 libgmp10 libmount1 libpcre2-8-0 libselinux1 libsmartcols1',
  'libtinfo6 libudev1 libuuid1 zlib1g libsystemd0 liblzma5 libzstd1 liblz4-1 libgcrypt20 libgpg-error0',
].flatMap((line) => line.split(' '))

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const

/** The user who runs the program. */
export const USER = 1000

const PASSWD = `root:x:0:0:root:/root:/usr/sbin/nologin
assay:x:${USER}:${USER}::/var/lib/assay:/usr/sbin/nologin
`

export interface Material {
  uri: string
  digest: { sha256: string }
}

/** Returns an apt of its own, so that the machine's lists and architecture stay as they are. */
function aptFor(architecture: string, folder: string): (...args: string[]) => void {
  for (const one of ['state/lists/partial', 'cache/archives/partial', 'deb'])
    mkdirSync(path.join(folder, one), { recursive: true })
  writeFileSync(path.join(folder, 'status'), '')
  const options = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State': path.join(folder, 'state'),
    'Dir::State::status': path.join(folder, 'status'),
    'Dir::Cache': path.join(folder, 'cache'),
  }
  const given = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return (...args) => {
    execFileSync('apt-get', [...given, '-qq', ...args], { cwd: path.join(folder, 'deb'), stdio: 'inherit' })
  }
}

/** Files that the image does not need: documents, translations. Licenses stay. */
const UNREAD = [
  'usr/share/man',
  'usr/share/locale',
  'usr/share/info',
  'usr/share/bash-completion',
  'usr/share/lintian',
]

/** Writes one file of all authorities, as the package's own script would. */
function joinAuthorities(rootFs: string): void {
  const folder = path.join(rootFs, 'usr/share/ca-certificates/mozilla')
  const all = globSync('*.crt', { cwd: folder }).toSorted()
  mkdirSync(path.join(rootFs, 'etc/ssl/certs'), { recursive: true })
  const text = all.map((file) => readFileSync(path.join(folder, file), 'utf8')).join('')
  writeFileSync(path.join(rootFs, 'etc/ssl/certs/ca-certificates.crt'), text)
}

/** Folders that Debian's packages expect to be links, such as /bin. base-files makes them when it is installed. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64']

/** Writes the root file system into `rootFs`. Returns the packages that it was made of. `folder`: a folder for apt. */
export async function writeBase(rootFs: string, { cpu }: Target, folder: string): Promise<Material[]> {
  const architecture = ARCHITECTURES[cpu]
  const apt = aptFor(architecture, folder)
  apt('update')
  apt('download', ...PACKAGES)
  mkdirSync(rootFs, { recursive: true })
  for (const name of MERGED) {
    mkdirSync(path.join(rootFs, 'usr', name), { recursive: true })
    symlinkSync(`usr/${name}`, path.join(rootFs, name))
  }
  const materials: Material[] = []
  for (const file of globSync('*.deb', { cwd: path.join(folder, 'deb') }).toSorted()) {
    const deb = path.join(folder, 'deb', file)
    const content = execFileSync('dpkg-deb', ['--fsys-tarfile', deb], { maxBuffer: 1e9 })
    execFileSync('tar', ['-x', '--keep-directory-symlink', '-C', rootFs], { input: content })
    const [name, version] = decodeURIComponent(file).split('_')
    const uri = `pkg:deb/debian/${encodeURIComponent(name!)}@${encodeURIComponent(version!)}?arch=${architecture}`
    materials.push({ uri, digest: { sha256: await sha256Of(deb) } })
  }
  for (const one of UNREAD) rmSync(path.join(rootFs, one), { recursive: true, force: true })
  // No program gives more rights to its user.
  execFileSync('find', [rootFs, '-perm', '/6000', '-type', 'f', '-exec', 'chmod', 'a-s', '{}', '+'])
  if (!existsSync(path.join(rootFs, 'bin/sh'))) symlinkSync('dash', path.join(rootFs, 'usr/bin/sh'))
  joinAuthorities(rootFs)
  writeFileSync(path.join(rootFs, 'etc/passwd'), PASSWD)
  writeFileSync(path.join(rootFs, 'etc/group'), `root:x:0:\nassay:x:${USER}:\n`)
  return materials
}
