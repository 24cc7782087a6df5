/**
 * Measures requests and bytes of a turn to the gateway, at a server in this process. The figures of docs/receiver.md:
 *
 *     npm run build && node scripts/fleet-cost.mjs
 *
 * A turn is that of the bench: 2 model requests, 5 tools, one approval. Each ends and is sent before the next one begins.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { turnRecords } from '../bench/turn.mjs'
import { createPluginIn } from '../build/plugin/create-plugin.js'

const TURNS = 20
const MINUTE = 60_000

let counts = {}
const server = createServer(async (request, response) => {
  let bytes = 0
  for await (const chunk of request) bytes += chunk.length
  counts[request.url] ??= { requests: 0, bytes: 0 }
  const count = counts[request.url]
  count.requests++
  count.bytes += bytes
  response.writeHead(200).end()
})
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${server.address().port}`

console.log('capture  compression  spans/turn  requests/turn  bytes/turn  of metrics a push')
for (const content_capture of ['off', 'preview', 'full']) {
  for (const compression of ['none', 'gzip']) await measure(content_capture, compression)
}
server.close()
server.closeAllConnections()

async function measure(content_capture, compression) {
  counts = {}
  const home = mkdtempSync(join(tmpdir(), 'hookspan-fleet-'))
  const config = { host: 'agent', content_capture, backends: [{ type: 'otlp', endpoint, compression }] }
  const plugin = createPluginIn(config, { env: {}, home, isReplay: true })
  const startedAt = Date.now() - TURNS * MINUTE
  for (let turn = 0; turn < TURNS; turn++) {
    const records = turnRecords('session', `turn-${turn}`, startedAt + turn * MINUTE)
    for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
    await plugin.flush()
  }
  const { delivered } = plugin.stats().backends.find(({ name }) => name === 'otlp')
  await plugin.shutdown()
  rmSync(home, { recursive: true, force: true })
  const { '/v1/traces': traces, '/v1/metrics': metrics } = counts
  const figures = [
    content_capture.padEnd(7),
    compression.padEnd(11),
    (delivered / TURNS).toFixed(1).padStart(10),
    (traces.requests / TURNS).toFixed(1).padStart(13),
    Math.round(traces.bytes / TURNS)
      .toString()
      .padStart(10),
    Math.round(metrics.bytes / metrics.requests)
      .toString()
      .padStart(18),
  ]
  console.log(figures.join('  '))
}
