// An MCP server that is traced by its own OpenTelemetry. Each call is a span in the trace of the agent that asked.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { traceMcpServer } from 'hookspan/mcp'
import { z } from 'zod'

const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] })
trace.setGlobalTracerProvider(provider)

const server = traceMcpServer(new McpServer({ name: 'stock', version: '1.0.0' }))
server.registerTool('in_stock', { inputSchema: { id: z.number() } }, async ({ id }) => ({
  content: [{ type: 'text', text: `3 of article ${id}` }],
}))
process.stdin.on('end', () => provider.shutdown().finally(() => process.exit()))
await server.connect(new StdioServerTransport())
