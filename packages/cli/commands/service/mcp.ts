/**
 * assay mcp: the MCP server over standard input and output, for agents that start their tools themselves. It uses the
 * service that other commands use. If none runs, it starts one itself until its input ends.
 */

import type { Command } from '../../command.ts'
import { connect } from '../../connect.ts'
import { EXIT } from '../../exit.ts'

export const MCP: Command = {
  name: 'mcp',
  operands: '',
  summary: 'Let an agent make and run reports by tools, over standard input and output (MCP)',
  details: 'Where no service runs on the home, this command runs the jobs itself.',
  options: {},
  async run(call) {
    const connection = await connect(call, { alone: true })
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    const { mcpFactory } = await import('@assay/service/mcp/server')
    const server = serveStdio(await mcpFactory(() => connection.client))
    await new Promise<void>((resolve) => {
      process.stdin.once('end', resolve)
      process.stdin.once('close', resolve)
      call.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    await server.close()
    await connection.close()
    return EXIT.ok
  },
}
