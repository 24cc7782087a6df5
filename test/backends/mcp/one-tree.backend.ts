import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { JaegerQuery } from '../jaeger/query.ts'
import { type Jaeger, startJaeger } from '../servers/jaeger.ts'
import { type ApplicationFolder, installApplication } from '../support/application-folder.ts'
import { eventually } from '../support/eventually.ts'
import type { FedSpan } from '../workload/fed-span.ts'

const PROGRAMS = new URL('programs', import.meta.url)
const HANG_MILLIS = 90_000

let jaeger: Jaeger
let folder: ApplicationFolder

beforeAll(async () => {
  folder = installApplication('mcp-sdk', PROGRAMS)
  jaeger = await startJaeger()
})

afterAll(async () => {
  await jaeger?.stop()
  folder?.remove()
})

const TREE = `shop-agent agent
  shop-agent llm.qwen3
    shop-agent tool.ask_stock
      stock-server tools/call in_stock
        stock-server SELECT stock
    shop-agent tool.ask_stock
      stock-server tools/call in_stock (tool_error)
`

test.each([
  ['1.32', 'stdio'],
  ['1.32', 'http'],
  ['2.4', 'stdio'],
  ['2.4', 'http'],
])('joins two processes with the SDK %s over %s in one tree in Jaeger', async (line, transport) => {
  const traceId = await run(['client.mjs', line.slice(0, 1), transport])
  const query = new JaegerQuery(jaeger.url)
  const spans = await eventually(
    () => query.trace(traceId),
    found => found.length >= TREE.trimEnd().split('\n').length,
  )
  expect(drawn(spans)).toBe(TREE)
})

/** @returns what it has printed */
async function run(args: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: folder.path, XDG_STATE_HOME: folder.path, OTLP_URL: jaeger.otlpUrl }
  const program = spawn(folder.node, args, { cwd: folder.path, env, timeout: HANG_MILLIS })
  let said = ''
  let complained = ''
  program.stdout.on('data', text => (said += text))
  program.stderr.on('data', text => (complained += text))
  const code = await new Promise(resolve => program.on('close', resolve))
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${complained.slice(-2000)}`)
  return said.trim()
}

function drawn(spans: readonly FedSpan[], parent?: string, indent = ''): string {
  return spans
    .filter(span => (span.parentSpanId || undefined) === parent)
    .sort((one, other) => Number(one.startUnixNano - other.startUnixNano))
    .map(span => {
      const failure = span.name.startsWith('tools/') ? span.attributes['error.type'] : undefined
      const line = `${indent}${span.resource['service.name']} ${span.name}${failure ? ` (${failure})` : ''}\n`
      return line + drawn(spans, span.spanId, `${indent}  `)
    })
    .join('')
}
