/** The client also offers to verify signatures, by Node's own cryptography: a browser has no use for it. */
export const withoutNode = {
  name: 'no-node',
  enforce: 'pre' as const,
  load(id: string): string | undefined {
    return id.replaceAll('\\', '/').endsWith('/model/signature.ts')
      ? 'const none = undefined\nexport { none as SignatureError, none as sign, none as verify }\n'
      : undefined
  },
}
