/**
 * Makes an image by the OCI Image Format Specification 1.1: layers as tar archives and a configuration as JSON, in
 * the image layout that skopeo, podman and docker load.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { USER } from './base.ts'
import { compress, type Packing, sha256Of, writeTar } from './files.ts'
import type { Target } from './modules.ts'

const TYPE = 'application/vnd.oci.image'

export interface Descriptor {
  mediaType: string
  digest: string
  size: number
  [field: string]: unknown
}

export interface Layer {
  folder: string
  createdBy: string
  owner?: number
  members?: readonly string[]
}

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const

/** The configuration by which the program runs. A health check is not part of the specification: ask /readyz. */
const RUN = {
  User: `${USER}:${USER}`,
  ExposedPorts: { '8080/tcp': {} },
  Env: [
    'PATH=/usr/local/bin:/usr/bin:/bin',
    'NODE_ENV=production',
    'ASSAY_HOME=/var/lib/assay',
    'ASSAY_HOST=0.0.0.0',
    'ASSAY_PORT=8080',
    'ASSAY_DATA=/data',
    'ASSAY_LOG_FORMAT=json',
  ],
  Entrypoint: ['node', '/app/bin/assay.js'],
  Cmd: ['serve'],
  WorkingDir: '/var/lib/assay',
  Volumes: { '/var/lib/assay': {} },
}

const STATE = ['var/lib/assay', 'files', 'data']

/** Keeps a file of the layout by its digest. */
function keep(layout: string, content: Buffer, mediaType: string): Descriptor {
  const hash = createHash('sha256').update(content).digest('hex')
  writeFileSync(path.join(layout, 'blobs/sha256', hash), content)
  return { mediaType, digest: `sha256:${hash}`, size: content.length }
}

const asJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

async function keepLayer(layout: string, layer: Layer, packing: Packing): Promise<[Descriptor, string]> {
  const file = path.join(layout, 'layer.tar')
  const { folder, createdBy: _, ...own } = layer
  writeTar(folder, file, { ...packing, ...own })
  const unpacked = `sha256:${await sha256Of(file)}`
  const packed = compress(file)
  const hash = await sha256Of(packed)
  const size = statSync(packed).size
  renameSync(packed, path.join(layout, 'blobs/sha256', hash))
  return [{ mediaType: `${TYPE}.layer.v1.tar+gzip`, digest: `sha256:${hash}`, size }, unpacked]
}

/** Adds the image of one platform to the layout. Returns its descriptor. */
export async function addImage(
  layout: string,
  layers: readonly Layer[],
  { cpu, os, version, ...packing }: Target & Packing & { version: string },
): Promise<Descriptor> {
  mkdirSync(path.join(layout, 'blobs/sha256'), { recursive: true })
  const kept = []
  for (const layer of layers) kept.push(await keepLayer(layout, layer, packing))
  const created = new Date(packing.time * 1000).toISOString()
  const platform = { architecture: ARCHITECTURES[cpu], os }
  const labels = {
    'org.opencontainers.image.title': 'assay',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'MIT',
  }
  const config = keep(
    layout,
    asJson({
      created,
      ...platform,
      config: { ...RUN, Labels: labels },
      rootfs: { type: 'layers', diff_ids: kept.map(([, unpacked]) => unpacked) },
      history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
    }),
    `${TYPE}.config.v1+json`,
  )
  const manifest = {
    schemaVersion: 2,
    mediaType: `${TYPE}.manifest.v1+json`,
    config,
    layers: kept.map(([descriptor]) => descriptor),
    annotations: labels,
  }
  return { ...keep(layout, asJson(manifest), manifest.mediaType), platform }
}

/** Completes the layout with its mark, and the index that names the image of each platform under the version. */
export function writeIndex(layout: string, images: readonly Descriptor[], version: string): void {
  const index = { schemaVersion: 2, mediaType: `${TYPE}.index.v1+json`, manifests: images }
  const named = { 'org.opencontainers.image.ref.name': version }
  // A single image is named directly, because a program that loads an image does not look for it in an index.
  const [only] = images
  const manifests =
    images.length === 1
      ? [{ ...only!, annotations: named }]
      : [{ ...keep(layout, asJson(index), index.mediaType), annotations: named }]
  writeFileSync(path.join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  writeFileSync(path.join(layout, 'index.json'), asJson({ ...index, manifests }))
}

/** Returns the layers of the program, laid out below `stage`. The layer that changes least is first. */
export function layersOf(stage: string, base: string, node: string, program: string): Layer[] {
  const folder = (name: string): string => path.join(stage, 'layers', name)
  cpSync(path.join(node, 'bin/node'), path.join(folder('node'), 'usr/local/bin/node'), { recursive: true })
  cpSync(path.join(node, 'LICENSE'), path.join(folder('node'), 'usr/local/share/licenses/node'), {
    recursive: true,
  })
  cpSync(program, path.join(folder('program'), 'app'), { recursive: true })
  for (const one of STATE) mkdirSync(path.join(folder('state'), one), { recursive: true })
  return [
    { folder: base, createdBy: 'packages of Debian' },
    { folder: folder('node'), createdBy: 'Node from npm' },
    { folder: folder('program'), createdBy: 'the program with its packages' },
    // The parents of these folders keep their owner.
    { folder: folder('state'), createdBy: 'folders that the service writes', owner: USER, members: STATE },
  ]
}
