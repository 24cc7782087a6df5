import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type PageFiles, type ServerOptions, startServer, type ViewServer } from '../../../src/viewer/server/server.ts'
import type { SourceStatus } from '../../../src/viewer/trace-index/answers.ts'
import { TraceIndex, type TraceSource } from '../../../src/viewer/trace-index/trace-index.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { afterwards } from '../../support/afterwards.ts'
import { until } from '../../support/until.ts'

export const TOKEN: string = 'k'.repeat(32)
export const NOW = 1795256200000

export const PAGE: PageFiles = new Map([
  ['/index.html', { type: 'text/html; charset=utf-8', bytes: Buffer.from('<!doctype html><title>page</title>') }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', bytes: Buffer.from('export {}') }],
])

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-view-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const BUILD = join(REPOSITORY, 'build', 'viewer', 'trace-index')

export interface FileSource extends TraceSource {
  readonly path: string
}

/** Traces of these lines, as `hookspan view FILE` has them: all of them are in. */
export async function sourceOf(...lines: readonly string[]): Promise<FileSource> {
  const source = await openFile(scratch(), lines)
  afterwards(() => source.close())
  return source
}

/** The same, to be closed by who opened it. */
export async function openFile(folder: string, lines: readonly string[]): Promise<FileSource> {
  const path = join(folder, 'traces.jsonl')
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
  const thread = pathToFileURL(join(BUILD, 'index-thread.js'))
  const source = await TraceIndex.open({ subject: { kind: 'file', path }, thread })
  await until(() => {
    const { bytes, indexedBytes } = source.status()
    return bytes > 0 && bytes === indexedBytes
  })
  return Object.assign(source, { path })
}

/** A source in which there is nothing, for who asks nothing of it. */
export const NOTHING: TraceSource = {
  status: () => ({ ...STATUS }),
  sessions: async () => ({ rows: [], hasMore: false, searchedSince: undefined }),
  session: async () => undefined,
  trace: async () => [],
  children: async () => new Map(),
  usage: async () => {
    const nothing = { dollars: 0, input: 0, output: 0, cachedTokens: 0, requestCount: 0, errorCount: 0, turnCount: 0 }
    const lists = { groups: [], cells: [], sessions: [], hours: [], tools: [] }
    return { total: nothing, before: undefined, ...lists }
  },
  open: () => [],
  follow: () => () => undefined,
  close: async () => undefined,
}

const STATUS: SourceStatus = {
  path: '/traces.jsonl',
  bytes: 0,
  indexedBytes: 0,
  traceCount: 0,
  spanCount: 0,
  unreadableCount: 0,
  indexedSince: undefined,
  failure: undefined,
}

/** A server of a source in which there is nothing, unless another one is given. */
export async function serve(options: Partial<ServerOptions> = {}): Promise<ViewServer> {
  const given = { source: NOTHING, page: PAGE, token: TOKEN, port: 0, version: '1.2.3', now: () => NOW, ...options }
  const server = await startServer(given)
  afterwards(() => server.close())
  return server
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request as these bytes, whatever any library would make of them. Resolves when the server has closed. */
export function sendRaw(port: number, text: string, address = '127.0.0.1'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, address)
    let answer = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece
    })
    socket.on('error', reject).on('close', () => resolve(answer))
    socket.write(text)
  })
}

/** Header lines beside the first; `connection: close` is added. */
export async function request(port: number, line: string, headers: readonly string[]): Promise<Answer> {
  const text = await sendRaw(port, [line, ...headers, 'Connection: close', '', ''].join('\r\n'))
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const pairs = lines.map(each => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 2)])
  const isChunked = pairs.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked')
  const body = rest.join('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]),
    headers: Object.fromEntries(pairs) as Record<string, string>,
    body: isChunked ? unchunked(body) : body,
  }
}

/** Only for text of one byte a character, and for chunks that came whole. */
function unchunked(body: string): string {
  const [, size = '0'] = /^([0-9a-f]+)\r\n/i.exec(body) ?? []
  const length = Number.parseInt(size, 16)
  const from = size.length + 2
  return length === 0 ? '' : body.slice(from, from + length) + unchunked(body.slice(from + length + 2))
}

/** As the page asks. */
export function ask(port: number, path: string, headers: readonly string[] = []): Promise<Answer> {
  return request(port, `GET ${path} HTTP/1.1`, [
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${TOKEN}`,
    ...headers,
  ])
}

export async function data<Shape>(port: number, path: string): Promise<Shape> {
  const { status, body } = await ask(port, path)
  if (status !== 200) throw new Error(`${path} is answered ${status}: ${body}`)
  return JSON.parse(body) as Shape
}
