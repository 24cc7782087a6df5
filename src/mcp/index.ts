/** `hookspan/mcp`: the trace goes on in MCP servers. Nothing of the MCP SDK is imported; both of its lines are known. */

export { type CarryOptions, carryContext } from './carry-context.ts'
export type { McpServer, McpTransport } from './shapes.ts'
export { type TraceServerOptions, traceMcpServer } from './trace-server.ts'
