const { once } = require('node:events')
const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { metrics, trace } = require('@opentelemetry/api')
const { registrations, startHost, told } = require('./host-telemetry.cjs')
const { tellTurn } = require('./turn.cjs')

const { order, plugin: options, isHandedIn, startAt, targetUrl } = JSON.parse(process.env.COEXISTENCE)
const REGISTRY = Symbol.for('opentelemetry.js.api.1')
const BETWEEN_TURNS_MILLIS = 10_000

/** An application with an OpenTelemetry of its own, in which hookspan records an agent's turns. Prints what it saw. */
async function play({ createPlugin, loadHttp }) {
  const variables = { ...process.env }
  if (order === 'host first') startHost()
  const registry = globalThis[REGISTRY]
  const handedIn = { tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() }
  const lines = []
  const note = line => lines.push(line.replace(/^hookspan: /, ''))
  const logger = { error: note, warn: note }
  const plugin = createPlugin({ ...options, ...(isHandedIn ? handedIn : {}), logger })
  if (order === 'plugin first') await (await tellTurn(plugin, 'early', startAt)).flushed
  const globals = { hadRegistry: registry !== undefined, isRegistryLeft: globalThis[REGISTRY] === registry }
  const host = startHost()
  const http = loadHttp()
  const turn = await trace.getTracer('host').startActiveSpan('host work', async span => {
    const told = await tellTurn(plugin, 'late', startAt + BETWEEN_TURNS_MILLIS, () => work(http))
    await told.flushed
    const scraped = await suppressed(http)
    span.end()
    return { ...told, scraped }
  })
  await plugin.shutdown()
  const { isActiveKept, scraped } = turn
  const seen = { ...globals, registrations: registrations(), isActiveKept, scraped, lines }
  trace.getTracer('host').startSpan('host after').end()
  // It fails where the host's backend does, which is the host's own affair.
  await host.stop().catch(() => undefined)
  const isEnvironmentLeft = JSON.stringify(variables) === JSON.stringify({ ...process.env })
  console.log(JSON.stringify({ ...seen, isEnvironmentLeft, told, versions: versions(), stats: plugin.stats() }))
}

/** What the host does itself must be seen by it, or nothing would be proven by what is not. */
async function work(http) {
  await trace.getTracer('host').startActiveSpan('host tool', async span => {
    await drained(http, `${targetUrl}/http`)
    await (await fetch(`${targetUrl}/fetch`)).text()
    span.end()
  })
}

/** Requests of the kind that ours are, made as ours are: with the copy of the API that hookspan has. */
async function suppressed(http) {
  const load = createRequire(require.resolve('hookspan/package.json'))
  const { context } = load('@opentelemetry/api')
  const { suppressTracing } = load('@opentelemetry/core')
  return context.with(suppressTracing(context.active()), async () => {
    await drained(http, `${targetUrl}/suppressed-http`)
    await (await fetch(`${targetUrl}/suppressed-fetch`)).text()
    await served(http)
    return options.prometheus && drained(http, `http://127.0.0.1:${options.prometheus.port}/metrics`)
  })
}

/** A request that the host serves. */
async function served(http) {
  const server = http.createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await drained(http, `http://127.0.0.1:${server.address().port}/served`)
  server.close()
  server.closeAllConnections()
}

async function drained(http, url) {
  const [response] = await once(http.get(url), 'response')
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return body
}

function versions() {
  const plugin = apiVersion(createRequire(require.resolve('hookspan/package.json')))
  return { node: process.versions.node, hostApi: apiVersion(require), pluginApi: plugin }
}

/** By its path: it does not let its `package.json` be asked for. */
function apiVersion(load) {
  const file = load.resolve('@opentelemetry/api')
  const name = join('@opentelemetry', 'api')
  return JSON.parse(readFileSync(join(file.slice(0, file.lastIndexOf(name)), name, 'package.json'), 'utf8')).version
}

module.exports = { play }
