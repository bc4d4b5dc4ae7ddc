/** Names the origin of a template or a metric, in words. */
export const ORIGINS = {
  shipped: 'Ships with Assay: read-only',
  folder: 'From a folder of the service: read-only',
  git: 'From the repository: changed there',
  workspace: 'Of this workspace',
} as const
