import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OtlpSink } from '../../support/otlp-sink.ts'
import { type ApplicationFolder, installApplication } from '../support/application-folder.ts'

const example = (name: string): URL => new URL(`../../../examples/${name}`, import.meta.url)
const CALLER = '0af7651916cd43dd8448eb211c80319c'

let folder: ApplicationFolder
let sink: OtlpSink

beforeAll(async () => {
  folder = installApplication('mcp-sdk', example('mcp-server'))
  cpSync(fileURLToPath(new URL('server.mjs', `${example('express').href}/`)), `${folder.path}/express.mjs`)
  sink = await OtlpSink.start()
})

afterAll(async () => {
  await sink?.stop()
  folder?.remove()
})

/** Its traces go to the sink. */
function environment(): Record<string, string | undefined> {
  const { path } = folder
  return { PATH: process.env['PATH'], HOME: path, XDG_STATE_HOME: path, OTEL_EXPORTER_OTLP_ENDPOINT: sink.url }
}

function received(): string[][] {
  const spans = sink.requests.filter(({ path }) => path === '/v1/traces').flatMap(({ records }) => records)
  return spans.map(({ name, traceId = '' }) => [name, traceId])
}

test('joins the client and the server of examples/mcp-server in one trace', async () => {
  const client = spawn(folder.node, ['client.mjs'], { cwd: folder.path, env: environment() })
  let output = ''
  client.stdout.on('data', text => (output += text))
  client.stderr.on('data', text => (output += text))
  const [code] = await once(client, 'close')
  expect({ code, output }).toEqual({ code: 0, output: '3 of article 7\n' })
  const names = ['agent', 'llm.none', 'tool.ask_stock', 'tools/call in_stock']
  await sink.until(() => names.every(name => received().some(([each]) => each === name)))
  expect(new Set(received().map(([, traceId]) => traceId)).size).toBe(1)
})

test("continues a caller's trace in examples/express", async () => {
  sink.requests.length = 0
  const server = spawn(folder.node, ['express.mjs'], { cwd: folder.path, env: { ...environment(), PORT: '0' } })
  try {
    const [address] = (await once(server.stdout, 'data')) as [Buffer]
    const headers = { 'content-type': 'application/json', traceparent: `00-${CALLER}-b7ad6b7169203331-01` }
    const body = JSON.stringify({ question: 'How many words?' })
    const response = await fetch(address.toString().trim(), { method: 'POST', headers, body })
    expect(await response.json()).toEqual({ answer: '3 words' })
    await sink.until(() => received().some(([name]) => name === 'agent'))
    expect(received().filter(([, traceId]) => traceId !== CALLER)).toEqual([])
  } finally {
    server.kill()
    await once(server, 'close')
  }
})
