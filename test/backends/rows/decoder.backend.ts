import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { METRIC } from '../../../src/contract/semconv/index.ts'
import { installedPath } from '../support/installed.ts'
import { type Fed, feedWorkload } from '../workload/feed.ts'

interface Carried {
  readonly requests: number
  readonly spans: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly name: string
    readonly digest: string
  }[]
  readonly metrics: readonly {
    readonly name: string
    readonly kind: string
    readonly temporality: string | null
    readonly points: number
  }[]
}

type Decoded = Readonly<Record<'json' | 'protobuf', Carried>> & { readonly faults: readonly string[] }

const DECODE = fileURLToPath(new URL('decode.py', import.meta.url))
const MAX_OUTPUT = 256 * 1024 * 1024

let scratch = ''
let server: Server
let fed: Fed
let decoded: Decoded

/** Writes the body of each request into a file that says what it is: `/json/v1/traces` → `json.traces.1`. */
function startRecorder(folder: string): Server {
  let count = 0
  return createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [, protocol, , signal] = (request.url ?? '').split('/')
      const sent = Buffer.concat(chunks)
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      writeFileSync(join(folder, `${protocol}.${signal}.${++count}`), body)
      response.writeHead(200).end()
    })
  })
}

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'hookspan-decoder-'))
  const folder = join(scratch, 'requests')
  mkdirSync(folder)
  server = startRecorder(folder)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  fed = await feedWorkload({
    home: scratch,
    config: {
      content_capture: 'full',
      backends: [
        { type: 'otlp', name: 'json', endpoint: `${url}/json`, protocol: 'http/json', compression: 'none' },
        { type: 'otlp', name: 'protobuf', endpoint: `${url}/protobuf`, protocol: 'http/protobuf', compression: 'gzip' },
      ],
    },
  })
  const output = execFileSync(installedPath('otlp-proto', 'python'), [DECODE, folder], { maxBuffer: MAX_OUTPUT })
  decoded = JSON.parse(output.toString('utf8')) as Decoded
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(scratch, { recursive: true, force: true })
})

const byId = (one: { spanId: string }, other: { spanId: string }): number => one.spanId.localeCompare(other.spanId)

test('finds no fault in the workload by the definitions of OTLP', () => {
  expect(decoded.faults).toEqual([])
})

describe.each(['json', 'protobuf'] as const)('http/%s', protocol => {
  test('carries each span that was made, once', () => {
    const { spans } = decoded[protocol]
    const identity = ({ traceId, spanId, name }: { traceId: string; spanId: string; name: string }) => ({
      traceId,
      spanId,
      name,
    })
    expect(spans.map(identity).sort(byId)).toEqual(fed.spans.map(identity).sort(byId))
  })

  test('carries every instrument that the workload moves, each of one kind and one temporality', () => {
    const { metrics } = decoded[protocol]
    const known = new Set(Object.values(METRIC).map(name => name.replace('{ns}', 'hermes')))
    const names = new Set(metrics.map(({ name }) => name))
    expect([...names].filter(name => !known.has(name) && !name.startsWith('otel.sdk.'))).toEqual([])
    expect(names.size).toBeGreaterThan(20)
    const shapes = new Set(metrics.map(({ name, kind, temporality }) => `${name} ${kind} ${temporality}`))
    expect(shapes.size).toBe(names.size)
  })
})

test('carries the same in both protocols, byte for byte, once decoded', () => {
  const [json, protobuf] = [decoded.json, decoded.protobuf].map(({ spans }) =>
    spans.map(({ spanId, digest }) => ({ spanId, digest })).sort(byId),
  )
  expect(json).toEqual(protobuf)
})
