import { dropUndefined } from '../../reading/attribute-value.ts'
import { exportHtml } from '../../reading/export-html.ts'
import { sharedContent, sharedContentLines } from '../../reading/shared-content.ts'
import { type TraceTree, walkTree } from '../../reading/trace-forest.ts'
import { summarize } from '../../reading/trace-summary.ts'
import { SESSION_SORTS, type SessionQuery } from '../trace-index/answers.ts'
import type { TraceSource } from '../trace-index/trace-index.ts'
import type { FoundSpans, Shared, SpanState, UsageGroup } from './api.ts'
import { compareView } from './compare-view.ts'
import { RequestError } from './gate.ts'
import { type PlacedNode, promptDiff, spanDetail, valuePart } from './span-detail.ts'
import { traceView, treeOf } from './trace-view.ts'
import { transcriptOf } from './transcript.ts'
import { textOf } from './value-cutter.ts'

export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly source: TraceSource
  readonly version: string
  now(): number
}

export interface Route {
  readonly path: string
  /**
   * `page`: the page itself, which reads the address. `live`: a stream of lines until the client disconnects. Otherwise data as
   * JSON, or a file.
   *
   * @throws RequestError when it does not exist or the arguments are wrong
   */
  readonly answer: 'page' | 'live' | ((request: RouteRequest) => Promise<object | Download>)
}

/** A file for the user, in pieces. Always sent as an attachment, so that no browser shows it as a page of this origin. */
export type Download = Readonly<{ name: string; pieces: Iterable<string> }>

const PAGES = ['/', '/sessions', '/sessions/:id', '/turns/:traceId', '/usage', '/compare']

export const ROUTES: readonly Route[] = [
  ...PAGES.map((path): Route => ({ path, answer: 'page' })),
  { path: '/api/live', answer: 'live' },
  {
    path: '/api/status',
    answer: async ({ source, version, now }) => ({ version, now: now(), source: source.status() }),
  },
  { path: '/api/sessions', answer: ({ source, query }) => source.sessions(sessionQuery(query)) },
  { path: '/api/sessions/:id', answer: session },
  { path: '/api/traces/:traceId', answer: trace },
  { path: '/api/traces/:traceId/transcript', answer: transcript },
  { path: '/api/traces/:traceId/find', answer: find },
  { path: '/api/traces/:traceId/spans/:spanId', answer: span },
  { path: '/api/traces/:traceId/spans/:spanId/prompt', answer: async request => promptDiff(await nodeIn(request)) },
  {
    path: '/api/usage',
    answer: ({ source, query }) => source.usage({ ...groupIn(query), ...within(query), ...zoneIn(query) }),
  },
  { path: '/api/compare', answer: compare },
  { path: '/api/export', answer: shared },
  { path: '/api/export/html', answer: sharedHtml },
]

const PATTERNS = ROUTES.map(({ path }) => new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`))

export function routeOf(path: string): { readonly route: Route; readonly params: Record<string, string> } | undefined {
  const route = ROUTES.find((_, index) => PATTERNS[index]?.test(path))
  if (route === undefined) return undefined
  const params = Object.entries(PATTERNS[ROUTES.indexOf(route)]?.exec(path)?.groups ?? {})
  try {
    return { route, params: Object.fromEntries(params.map(([name, part]) => [name, decodeURIComponent(part)])) }
  } catch {
    throw new RequestError(400, 'the path is not encoded as a URL is')
  }
}

async function session({ source, params }: RouteRequest): Promise<object> {
  const found = await source.session(params['id'] ?? '')
  if (found === undefined) throw missing(source, 'session', 'there is no such session')
  return found
}

async function trace(request: RouteRequest): Promise<object> {
  const { source, now, params } = request
  const tree = await treeIn(request)
  const { turn, ...neighbours } = await turnOf(tree, source)
  const children = await source.children(params['traceId'] ?? '')
  return { ...traceView(tree, turn, now(), children), ...neighbours }
}

async function transcript(request: RouteRequest): Promise<object> {
  const { source, params, now } = request
  const tree = await treeIn(request)
  return transcriptOf(tree, openStateOf(tree, source), now(), await source.children(params['traceId'] ?? ''))
}

function openStateOf({ traceId }: TraceTree, source: TraceSource): SpanState {
  return source.open().find(open => open.traceId === traceId)?.state ?? 'open'
}

async function turnOf(tree: TraceTree, source: TraceSource) {
  const { traceId } = tree
  const named = summarize(tree).sessionId
  const turns = (await source.session(named || `trace:${traceId}`))?.turns ?? []
  const at = turns.findIndex(turn => turn.traceId === traceId)
  const turn = turns[at]
  // A read between two steps of the index: the spans exist already, the row does not.
  if (turn === undefined) throw new RequestError(503, 'this turn is just being read; ask again')
  return { turn, previous: turns[at - 1]?.traceId, next: turns[at + 1]?.traceId }
}

async function compare({ source, query }: RouteRequest): Promise<object> {
  const { a = '', b = '' } = texts(query, ['a', 'b'])
  return compareView(await treesOf(a, source), await treesOf(b, source))
}

/** The content of an export and the commands for it. This server sends nothing by itself. */
async function shared({ source, query }: RouteRequest): Promise<Shared> {
  const { of = '' } = texts(query, ['of'])
  const trees = await treesOf(of, source)
  return { lines: [...sharedContentLines(sharedContent(trees))], commands: commandsFor(of, trees) }
}

/** Ids are untrusted text. An id that a shell might interpret is never put into a command. */
const PLAIN_ID = /^[\w.-]{1,128}$/

function commandsFor(id: string, trees: readonly TraceTree[]): readonly string[] {
  if (!PLAIN_ID.test(id) || id.startsWith('-')) return []
  const isTurn = trees.length === 1 && trees[0]?.traceId === id
  const which = isTurn ? id : `--session ${id}`
  return [`hookspan export ${which} --format otlp --out traces.jsonl`, 'hookspan send traces.jsonl --backend NAME']
}

async function sharedHtml({ source, query, now }: RouteRequest): Promise<Download> {
  const { of = '' } = texts(query, ['of'])
  const trees = await treesOf(of, source)
  return { name: `hookspan-${of.replace(/[^\w-]+/g, '-').slice(0, 60)}.html`, pieces: exportHtml(trees, now()) }
}

const MAX_TURNS = 100

async function treesOf(id: string, source: TraceSource): Promise<TraceTree[]> {
  const spans = await source.trace(id)
  if (spans.length > 0) return [treeOf(spans)]
  const turns = (await source.session(id))?.turns ?? []
  if (turns.length === 0) throw missing(source, 'turn or session', 'there is no such turn or session here')
  if (turns.length > MAX_TURNS)
    throw new RequestError(
      400,
      `a session of more than ${MAX_TURNS} turns is too much at once; hookspan diff and hookspan tree take it`,
    )
  const trees: TraceTree[] = []
  for (const { traceId } of turns) trees.push(treeOf(await source.trace(traceId)))
  return trees
}

async function nodeIn(request: RouteRequest): Promise<PlacedNode> {
  const tree = await treeIn(request)
  for (const { node } of walkTree(tree)) if (node.span.spanId === request.params['spanId']) return { node, tree }
  throw new RequestError(404, 'there is no such span in this turn')
}

async function span(request: RouteRequest): Promise<object> {
  const { source, query } = request
  const placed = await nodeIn(request)
  const { span } = placed.node
  const attribute = query.get('attribute')
  if (attribute === null) {
    const here = new Set<string>()
    for (const { traceId } of span.links) if ((await source.trace(traceId)).length > 0) here.add(traceId)
    return spanDetail(placed, openStateOf(placed.tree, source), here)
  }
  const part = valuePart(span, attribute, count(query, 'from') ?? 0)
  if (part === undefined) throw new RequestError(404, 'the span has no such attribute')
  return part
}

async function find(request: RouteRequest): Promise<FoundSpans> {
  const { text = '' } = texts(request.query, ['text'])
  const wanted = text.toLowerCase()
  const tree = await treeIn(request)
  const spanIds: string[] = []
  for (const { node } of wanted === '' ? [] : walkTree(tree)) {
    const { span } = node
    const said = [span.name, span.statusMessage ?? '', ...Object.values(span.attributes)]
    if (said.some(value => textOf(value).toLowerCase().includes(wanted))) spanIds.push(span.spanId)
  }
  return { spanIds }
}

async function treeIn({ source, params }: RouteRequest) {
  const spans = await source.trace(params['traceId'] ?? '')
  if (spans.length === 0) throw missing(source, 'turn', 'there is no such turn here, or not any more')
  return treeOf(spans)
}

function missing(source: TraceSource, what: string, problem: string): RequestError {
  const { bytes, indexedBytes } = source.status()
  return new RequestError(404, indexedBytes < bytes ? `no such ${what} so far: the log is still being read` : problem)
}

function sessionQuery(query: URLSearchParams): SessionQuery {
  const order = query.get('sort') ?? ''
  const sort = SESSION_SORTS.find(name => name === order.replace(/^-/, ''))
  return {
    ...texts(query, ['agent', 'model', 'tool', 'project', 'branch', 'outcome', 'text']),
    ...within(query),
    ...zoneIn(query),
    ...dropUndefined({ weekHour: count(query, 'hour'), limit: count(query, 'limit') }),
    ...(sort !== undefined && { sort, isAscending: order.startsWith('-') }),
    ...(query.has('facets') && { hasFacets: true }),
  }
}

const GROUPS: readonly UsageGroup[] = ['agent', 'model', 'project', 'session', 'day']

function groupIn(query: URLSearchParams): { by?: UsageGroup } {
  const by = GROUPS.find(group => group === query.get('by'))
  if (by === undefined && query.has('by')) throw new RequestError(400, `by takes one of ${GROUPS.join(', ')}`)
  return by === undefined ? {} : { by }
}

function zoneIn(query: URLSearchParams): { timeZone?: string } {
  const { zone: timeZone } = texts(query, ['zone'])
  if (timeZone === undefined) return {}
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new RequestError(400, 'there is no such time zone')
  }
  return { timeZone }
}

function within(query: URLSearchParams): { sinceAt?: number; untilAt?: number } {
  return dropUndefined({ sinceAt: count(query, 'since'), untilAt: count(query, 'until') })
}

const MAX_TEXT = 500

function texts<Name extends string>(query: URLSearchParams, names: readonly Name[]): { [Each in Name]?: string } {
  const found: { [Each in Name]?: string } = {}
  for (const name of names) {
    const text = query.get(name)?.trim() ?? ''
    if (text.length > MAX_TEXT) throw new RequestError(400, `${name} is longer than ${MAX_TEXT} characters`)
    if (text !== '') found[name] = text
  }
  return found
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!/^\d{1,15}(\.\d{1,6})?$/.test(text)) throw new RequestError(400, `${name} takes a number`)
  return Number(text)
}
