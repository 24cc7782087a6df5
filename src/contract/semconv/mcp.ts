/** Names of the MCP conventions, including those from JSON-RPC. Status Development. */
export const MCP = {
  methodName: 'mcp.method.name',
  sessionId: 'mcp.session.id',
  protocolVersion: 'mcp.protocol.version',
  networkTransport: 'network.transport',
  requestId: 'jsonrpc.request.id',
} as const
