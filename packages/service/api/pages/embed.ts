/** The script of the element by which other sites show an insight. It is the same for everyone and holds no secret. */

import { operation } from '../http/operation.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'
import { EMBED } from './embed.generated.ts'

let asset: Asset | undefined

export const embedScript = operation({
  name: 'embedScript',
  tag: 'Pages',
  hidden: true,
  summary: 'The element that shows the page of a link in another site',
  scope: null,
  replies: {
    200: { description: 'A script', media: ['text/javascript'] },
    304: { description: 'Known' },
  },
  handle(call) {
    asset ??= assetOf('embed.js', new Map([['identity', Buffer.from(EMBED)]]))
    return sendAsset(call, asset, {
      'cache-control': 'public, max-age=3600',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
  },
})
