/** `hookspan/mcp`: continues traces in MCP servers. Supports both lines of the MCP SDK without importing either. */

export type { McpServer, McpTransport } from './carry-context.ts'
export { type CarryOptions, carryContext } from './carry-context.ts'
export { type TraceServerOptions, traceMcpServer } from './trace-server.ts'
