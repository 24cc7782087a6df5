// An agent that calls a tool of the MCP server and passes its trace context along.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { createPlugin } from 'hookspan'
import { carryContext } from 'hookspan/mcp'

const { OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318' } = process.env
const hooks = createPlugin({
  host: 'example-mcp',
  backends: [{ type: 'otlp', endpoint: OTEL_EXPORTER_OTLP_ENDPOINT, metrics: false }],
})

const transport = new StdioClientTransport({
  command: process.execPath,
  args: ['server.mjs'],
  env: { ...getDefaultEnvironment(), OTEL_EXPORTER_OTLP_ENDPOINT },
})
let ids
const client = new Client({ name: 'shop', version: '1.0.0' })
await client.connect(carryContext(transport, { traceparent: () => ids && hooks.traceparent(ids) }))

await hooks.turn({ model: 'none', user_message: 'Is article 7 in stock?' }, turn =>
  turn.tool('ask_stock', { id: 7 }, async (args, tool) => {
    ids = tool.ids
    const { content } = await client.callTool({ name: 'in_stock', arguments: args })
    console.log(content[0].text)
  }),
)
await client.close()
await hooks.shutdown()
