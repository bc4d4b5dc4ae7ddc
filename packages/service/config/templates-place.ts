/** The place of templates beside the shipped ones: folders of this machine, or one git repository. */
import path from 'node:path'
import { sshAddress } from '../git/transport/ssh-address.ts'

export interface TemplatesPlace {
  folders: string[]
  /**
   * The address of the repository: https://HOST/PATH without a name and a password, ssh://NAME@HOST/PATH or
   * NAME@HOST:PATH. Null if there is none.
   */
  repository: string | null
}

/** Forms of git addresses that the service does not read, such as git://HOST/PATH. */
const OTHER_GIT = /^(?:git|git\+https?):\/\//

/** Parses ASSAY_TEMPLATES. Throws an Error whose message says what the text must be. */
export function templatesPlace(value: string): TemplatesPlace {
  if (OTHER_GIT.test(value))
    throw new Error(
      'must be folders or a repository by https or ssh: write https://HOST/PATH.git or ssh://git@HOST/PATH.git',
    )
  if (sshAddress(value)) return { folders: [], repository: value.replace(/\/+$/, '') }
  if (!/^https?:\/\//.test(value)) return { folders: foldersOf(value), repository: null }
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || url.pathname.length < 2)
    throw new Error('must be the address of a repository: https://HOST/PATH.git')
  if (url.username !== '' || url.password !== '')
    throw new Error('must hold no name and no password: set ASSAY_TEMPLATES_TOKEN')
  if (url.search !== '' || url.hash !== '')
    throw new Error('must end with the path of the repository; its branch is ASSAY_TEMPLATES_BRANCH')
  return { folders: [], repository: value.replace(/\/+$/, '') }
}

function foldersOf(value: string): string[] {
  return value
    .split(path.delimiter)
    .filter((part) => part !== '')
    .map((part) => path.resolve(part))
}

/**
 * Parses the folder within the repository; "" is the whole repository. Throws an Error whose message says what the
 * text must be.
 */
export function folderWithin(value: string): string {
  const parts = value.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..') || value.includes('\\'))
    throw new Error('must be a folder of the repository, such as reports/weekly')
  return parts.join('/')
}

/** Parses the name of a branch; null for an empty text. Throws an Error whose message says what the text must be. */
export function branchName(value: string): string | null {
  if (value === '') return null
  if (!/^[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}$/.test(value) || /\.\.|\/\/|\.lock$|\/$|\.$/.test(value))
    throw new Error('must be the name of a branch, such as main')
  return value.replace(/^refs\/heads\//, '')
}
