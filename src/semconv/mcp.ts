/** Names of the MCP conventions, with what they take from those of JSON-RPC and networks. Status Development. */
export const MCP = {
  methodName: 'mcp.method.name',
  sessionId: 'mcp.session.id',
  requestId: 'jsonrpc.request.id',
  responseStatusCode: 'rpc.response.status_code',
} as const
