/** Pushes a change of one file as a branch of its own. It runs in the thread that reads commits. */
import * as git from 'isomorphic-git'
import { fetchTip, type Objects, type PullInput } from './pull-commit.ts'
import { PullError } from './pull-fault.ts'
import { openTransport } from './transport/transport.ts'

export interface ProposeInput extends Omit<PullInput, 'known'> {
  /** The path of the file in the repository. */
  file: string
  /** The text of the file that the author has seen. */
  before: string
  after: string
  /** The name of the new branch. */
  proposal: string
  message: string
  author: string
}

/** The pushed branch. `based_on`: the commit from which it begins. */
export interface Proposed {
  commit_id: string
  based_on: string
}

/** Returns the id of a tree in which the file at the path has the other text. */
async function changedTree(
  objects: Objects,
  tree: string,
  steps: string[],
  input: ProposeInput,
): Promise<string> {
  const [name, ...rest] = steps as [string, ...string[]]
  const { tree: entries } = await git.readTree({ ...objects, oid: tree })
  const entry = entries.find(({ path }) => path === name)
  if (!entry) throw new PullError(`The branch has no ${input.file} any more: look at its newest commit.`)
  if (rest.length > 0) {
    const oid = await changedTree(objects, entry.oid, rest, input)
    return git.writeTree({ ...objects, tree: entries.map((one) => (one === entry ? { ...one, oid } : one)) })
  }
  const { blob } = await git.readBlob({ ...objects, oid: entry.oid })
  if (Buffer.from(blob).toString('utf8') !== input.before)
    throw new PullError(
      `${input.file} has changed in the branch since it was served: look at the newest commit first.`,
    )
  const oid = await git.writeBlob({ ...objects, blob: Buffer.from(input.after) })
  return git.writeTree({ ...objects, tree: entries.map((one) => (one === entry ? { ...one, oid } : one)) })
}

/** Pushes the change. Rejects as pullCommit does. */
export async function proposeChange(input: ProposeInput): Promise<Proposed> {
  const { file, proposal, message, author: name } = input
  const transport = openTransport(input)
  try {
    const { objects, oid: based_on } = await fetchTip(transport, input)
    const root = (await git.readTree({ ...objects, oid: based_on })).oid
    const tree = await changedTree(objects, root, file.split('/'), input)
    const ref = `refs/heads/${proposal}`
    const author = { name, email: 'assay@localhost' }
    const commit_id = await git.commit({
      ...objects,
      ref,
      message,
      tree,
      parent: [based_on],
      author,
      committer: author,
    })
    await git.push({ ...objects, ...transport.remote(), ref, remoteRef: ref })
    return { commit_id, based_on }
  } finally {
    await transport.close()
  }
}
