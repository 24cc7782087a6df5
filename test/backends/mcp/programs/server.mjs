// A server of MCP that is traced itself: node server.mjs 1|2 stdio|http. Over HTTP it prints its port.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { trace } from '@opentelemetry/api'
import { traceMcpServer } from 'hookspan/mcp'
import { z } from 'zod'
import { startTelemetry } from './telemetry.mjs'

const [line, transport] = process.argv.slice(2)
const provider = startTelemetry('stock-server')

function made(McpServer) {
  const server = traceMcpServer(new McpServer({ name: 'stock', version: '1.0.0' }))
  server.registerTool('in_stock', { inputSchema: z.object({ id: z.number() }) }, async ({ id }) => {
    if (id < 0) throw new Error('no such article')
    trace.getTracer('stock').startActiveSpan('SELECT stock', span => span.end())
    return { content: [{ type: 'text', text: '3' }] }
  })
  return server
}

async function serveOldLine() {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js')
  if (transport === 'stdio') {
    const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
    return made(McpServer).connect(new StdioServerTransport())
  }
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js')
  const http = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID })
  await made(McpServer).connect(http)
  listen((request, response) => http.handleRequest(request, response))
}

async function serveNewLine() {
  const { McpServer, createMcpHandler } = await import('@modelcontextprotocol/server')
  if (transport === 'stdio') {
    const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
    return made(McpServer).connect(new StdioServerTransport())
  }
  const { toNodeHandler } = await import('@modelcontextprotocol/node')
  listen(toNodeHandler(createMcpHandler(() => made(McpServer))))
}

function listen(handle) {
  const http = createServer((request, response) => void handle(request, response))
  http.listen(0, '127.0.0.1', () => console.log(http.address().port))
}

const stop = () => void provider.shutdown().finally(() => process.exit())
process.on('SIGTERM', stop)
if (transport === 'stdio') process.stdin.on('end', stop)
await (line === '1' ? serveOldLine() : serveNewLine())
