// An agent with one turn that asks a server of MCP: node client.mjs 1|2 stdio|http. Prints the id of the turn's trace.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { context } from '@opentelemetry/api'
import { createPlugin } from 'hookspan'
import { carryContext } from 'hookspan/mcp'
import { startTelemetry } from './telemetry.mjs'

const [line, transport] = process.argv.slice(2)
const provider = startTelemetry('shop-agent')
const server = ['server.mjs', line, transport]
const hooks = createPlugin({ host: 'shop-agent', backends: [{ type: 'jaeger', endpoint: process.env.OTLP_URL }] })

const sdk = line === '1' ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client'
const files =
  line === '1'
    ? { client: `${sdk}/index.js`, stdio: `${sdk}/stdio.js`, http: `${sdk}/streamableHttp.js` }
    : { client: sdk, stdio: `${sdk}/stdio`, http: sdk }
const { Client } = await import(files.client)
const parts = await import(files[transport])

const http =
  transport === 'http' ? spawn(process.execPath, server, { stdio: ['ignore', 'pipe', 'inherit'] }) : undefined
const options = line === '1' ? {} : { versionNegotiation: { mode: 'auto' } }
const client = new Client({ name: 'shop', version: '1.0.0' }, transport === 'http' ? options : {})
await client.connect(carryContext(await wayToServer()))

let traceparent
await hooks.turn({ session_id: 's1', model: 'qwen3', user_message: 'Is it in stock?' }, async turn => {
  for (const id of [7, -1])
    await turn.tool('ask_stock', { id }, (args, tool) => {
      traceparent = hooks.traceparent(tool.ids)
      return context.with(hooks.context(tool.ids), () => client.callTool({ name: 'in_stock', arguments: args }))
    })
})
await client.close()
await hooks.shutdown()
await provider.shutdown()
http?.kill()
console.log(traceparent.split('-')[1])

async function wayToServer() {
  if (http === undefined) {
    const env = { PATH: process.env.PATH, OTLP_URL: process.env.OTLP_URL }
    return new parts.StdioClientTransport({ command: process.execPath, args: server, env })
  }
  const [port] = await once(http.stdout, 'data')
  return new parts.StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${String(port).trim()}/mcp`))
}
