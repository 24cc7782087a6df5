import { groupBy } from '../../reading/group-by.ts'
import { innermostOpen, waitingSince } from '../../reading/open-turns.ts'
import { DEFAULT_NAMESPACE, namespaceOf, namespaceOfTree, SpanAttributes } from '../../reading/span-attributes.ts'
import {
  approvalWaitMillis,
  cachedTokensOf,
  costOf,
  factsOf,
  isApprovalWait,
  isRequest,
  tokensOf,
} from '../../reading/span-facts.ts'
import type { Attributes, StoredSpan } from '../../reading/stored-span.ts'
import { buildTree, putSpan, type TraceNode, type TraceTree } from '../../reading/trace-forest.ts'
import { mainRoot, summarize } from '../../reading/trace-summary.ts'
import type { Openness, OpenTraceRow, TurnRow } from './answers.ts'
import type { LinePlace } from './log-file.ts'

export type StoredTurn = Omit<TurnRow, keyof Openness | 'title'>

/** `nth` counts the spans of the line, running ones first. */
export type SpanPlace = Readonly<{ line: LinePlace; nth: number }>

export type PlacedSpan = SpanPlace & Readonly<{ span: StoredSpan }>

/** The kinds of spans summed up by day. `turn` also has the tokens of a trace that none of its requests records. */
type FigureKind = 'request' | 'tool' | 'turn'

const AMOUNTS = ['failed', 'input', 'output', 'cached', 'nanodollars'] as const

/** The sums over the spans of a trace with the same slot, kind, name and outcome. */
export interface Figure extends Readonly<Record<(typeof AMOUNTS)[number], number>> {
  /** Quarters of an hour since the epoch: each lies in one local day and hour of every time zone. */
  readonly slot: number
  readonly kind: FigureKind
  readonly name: string
  readonly outcome: string
  /** Each duration, in whole milliseconds. A running span has none. */
  readonly durations: readonly number[]
}

/** An open trace without its owner's state, which changes without a line in the log. */
export interface OpenSpans
  extends Pick<OpenTraceRow, 'openSince' | 'waitingSince' | 'contextUsed' | 'minutes' | 'doing'> {
  readonly paths: readonly string[]
}

/** Everything the index knows of a trace. It depends only on the trace's lines, in the order of the log. */
export interface TraceFacts {
  readonly turn: StoredTurn
  readonly namespace: string
  readonly models: readonly string[]
  readonly tools: readonly string[]
  /**
   * `traceId:spanId` of the spans of other traces that started this one. `delegations`: span id and session id of the sessions
   * that spans of this trace started.
   */
  readonly parents: readonly string[]
  readonly delegations: readonly (readonly [string, string])[]
  /** See `unpackFigures`: objects would take several times the memory. */
  readonly figures: string
  readonly prompt: SpanPlace | undefined
  readonly open: OpenSpans | undefined
}

export const NANO = 1e9
export const SLOT_MILLIS = 900_000
/** The length that `displayText` shows. */
const MAX_VALUE_CHARS = 2_000
/** Guards against hostile input. */
const MAX_CHARS = 500
const MAX_NAME_CHARS = 60
const MAX_NAMES = 200
const MAX_TOKENS = 1e12
const MAX_DOLLARS = 1e6
/** Limit per trace: a turn with a hundred parallel tools must not push the others out of sight. */
const MAX_OPEN_SPANS = 20

export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MILLIS)
}

function wholeMillis(millis: number): number {
  return Math.round(Math.max(0, millis))
}

/** A copy, because a slice would keep the whole text in memory. */
export function cutText(text: string, most: number = MAX_CHARS): string {
  return text.length <= most ? text : Buffer.from(text.slice(0, most)).toString()
}

function shortName(text: string): string {
  return cutText(text, MAX_NAME_CHARS)
}

/** The span without what no fact depends on: a trace of many spans must fit into memory. */
export function slimSpan(span: StoredSpan): StoredSpan {
  const slim = { ...span, events: [], resource: {} }
  let attributes: Record<string, Attributes[string]> | undefined
  for (const name of Object.keys(span.attributes)) {
    const value = span.attributes[name]
    if (typeof value !== 'string' || value.length <= MAX_VALUE_CHARS) continue
    attributes ??= Object.assign(Object.create(null), span.attributes) as Record<string, Attributes[string]>
    attributes[name] = cutText(value, MAX_VALUE_CHARS)
  }
  return attributes === undefined ? slim : { ...slim, attributes }
}

export function factsOfTrace(traceId: string, inOrder: readonly PlacedSpan[]): TraceFacts {
  const spans = new Map<string, StoredSpan>()
  const places = new Map<StoredSpan, PlacedSpan>()
  for (const placed of inOrder) {
    places.set(placed.span, placed)
    putSpan(spans, placed.span)
  }
  const tree = buildTree(traceId, spans)
  const namespace = namespaceOfTree(tree)
  const all = Array.from(spans.values(), span => new SpanAttributes(span, namespace))
  const turn = turnOf(tree, all, namespace)
  const root = mainRoot(tree)
  const prompt = root && spans.get(promptNode(root, namespace).span.spanId)
  const place = prompt && places.get(prompt)
  const running = [...spans.values()].filter(span => span.running === true)
  return {
    turn,
    namespace,
    models: namesOf(all, ['gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name']),
    tools: namesOf(all, ['gen_ai.tool.name', 'tool.name']),
    parents: [...new Set([...spans.values()].flatMap(parentLinkOf))].slice(0, MAX_NAMES),
    delegations: [...spans.values()].toSorted((a, b) => a.startAt - b.startAt).flatMap(delegationOf),
    figures: packFigures(figuresOf(all, turn, namespace)),
    prompt: place && { line: place.line, nth: place.nth },
    open: running.length === 0 ? undefined : { ...openSpansOf(tree, namespace, running, places), ...requestsOf(all) },
  }
}

function turnOf(tree: TraceTree, all: readonly SpanAttributes[], namespace: string): StoredTurn {
  const { silentMillis: _, startAt, ...summary } = summarize(tree)
  const { tokens, cost, outcome } = summary
  const requests = all.filter(({ kind }) => isRequest(kind))
  const approvals = all.flatMap(({ kind, span }) => (kind === 'approval' && span.running !== true ? [span] : []))
  const cachedTokens = requests.reduce((sum, request) => sum + boundedTokens(cachedTokensOf(request) ?? 0), 0)
  const input = boundedTokens(tokens?.input ?? 0)
  return {
    ...summary,
    traceId: tree.traceId,
    sessionId: cutText(summary.sessionId) || `trace:${tree.traceId}`,
    agent: cutText(summary.agent),
    model: cutText(summary.model),
    project: cutText(summary.project),
    branch: cutText(summary.branch),
    outcome: outcome && { ...outcome, text: cutText(outcome.text) },
    startAt,
    lastAt: tree.lastAt,
    tokens: tokens && {
      input: tokens.input === undefined ? undefined : input,
      output: tokens.output === undefined ? undefined : boundedTokens(tokens.output),
    },
    subagentTokens: boundedTokens(summary.subagentTokens),
    auxiliaryTokens: boundedTokens(summary.auxiliaryTokens),
    cost: { ...cost, dollars: nanodollars(cost.dollars) / NANO },
    cachedTokens,
    cacheHitRate: input > 0 ? Math.min(1, cachedTokens / input) : undefined,
    requestCount: requests.length,
    toolCount: all.filter(({ kind }) => kind === 'tool').length,
    waitedMillis: approvalWaitMillis(approvals, namespace),
  }
}

/** The span with the prompt: the root if it has ended, until then its `llm` span, which starts with the prompt. */
function promptNode(root: TraceNode, namespace: string): TraceNode {
  if (root.span.running !== true) return root
  return root.children.find(({ span }) => new SpanAttributes(span, namespace).kind === 'llm') ?? root
}

function namesOf(all: readonly SpanAttributes[], keys: readonly string[]): string[] {
  const values = all.flatMap(({ span }) => keys.map(key => span.attributes[key]))
  const names = values.filter(value => typeof value === 'string').map(value => cutText(value))
  return [...new Set(names)].slice(0, MAX_NAMES)
}

function parentLinkOf(span: StoredSpan): string[] {
  const name = `${namespaceOf(span) ?? DEFAULT_NAMESPACE}.link`
  const link = span.links.find(({ attributes }) => attributes[name] === 'parent')
  return link === undefined ? [] : [cutText(`${link.traceId}:${link.spanId}`)]
}

function delegationOf({ spanId, attributes }: StoredSpan): (readonly [string, string])[] {
  const name = Object.keys(attributes).find(each => each.endsWith('.subagent.child_session_id'))
  const id = name === undefined ? undefined : attributes[name]
  return typeof id === 'string' ? [[spanId, cutText(id)]] : []
}

function openSpansOf(
  tree: TraceTree,
  namespace: string,
  running: readonly StoredSpan[],
  places: ReadonlyMap<StoredSpan, PlacedSpan>,
): Omit<OpenSpans, 'contextUsed' | 'minutes'> {
  const innermost = [...innermostOpen(tree)].sort((a, b) => a.span.startAt - b.span.startAt)
  return {
    openSince: running.reduce((first, { startAt }) => Math.min(first, startAt), Number.POSITIVE_INFINITY),
    waitingSince: waitingSince(innermost, namespace),
    doing: innermost.slice(0, MAX_OPEN_SPANS).map(node => {
      const { kind, name, hint } = factsOf(node, namespace)
      const { spanId, startAt } = node.span
      const isQuestion = isApprovalWait(node.span, namespace)
      const command = isQuestion ? new SpanAttributes(node.span, namespace).rawText('.approval.command') : ''
      return { spanId, kind, name, hint, startAt, ...(command !== '' && { command }) }
    }),
    paths: [...new Set(running.flatMap(span => places.get(span)?.line.path ?? []))],
  }
}

const MINUTE_MILLIS = 60_000
const MAX_MINUTES = 16

/** The tokens of the last requests by the minute in which they ended, and the context used by the last of the turn's own. */
function requestsOf(all: readonly SpanAttributes[]): Pick<OpenSpans, 'contextUsed' | 'minutes'> {
  const requests = all.filter(({ kind, span }) => isRequest(kind) && span.running !== true)
  requests.sort((a, b) => a.span.endAt - b.span.endAt)
  const minutes = new Map<number, number>()
  for (const request of requests) {
    const { input = 0, output = 0 } = tokensOf(request) ?? {}
    const minute = Math.floor(request.span.endAt / MINUTE_MILLIS)
    minutes.set(minute, (minutes.get(minute) ?? 0) + boundedTokens(input) + boundedTokens(output))
  }
  const last = requests.findLast(
    request => request.kind === 'api' && request.number('.context.used_ratio') !== undefined,
  )
  return { contextUsed: last?.number('.context.used_ratio'), minutes: [...minutes].slice(-MAX_MINUTES) }
}

/** A span may record any number, but sums must stay finite. */
function boundedTokens(tokens: number): number {
  return bounded(tokens, MAX_TOKENS)
}

/** Sums of integers do not depend on their order. */
function nanodollars(dollars: number): number {
  return Math.round(bounded(dollars, MAX_DOLLARS) * NANO)
}

function bounded(figure: number, most: number): number {
  return Number.isNaN(figure) ? 0 : Math.min(most, Math.max(-most, figure))
}

function figuresOf(all: readonly SpanAttributes[], turn: StoredTurn, namespace: string): Figure[] {
  const figures: Figure[] = []
  const approvals = all.filter(({ kind }) => kind === 'approval').map(({ span }) => span)
  // The waiting time of the approvals below a tool is not the tool's own.
  const waits = groupBy(approvals, ({ parentSpanId }) => parentSpanId)
  for (const attributes of all) {
    const { span, kind } = attributes
    if (isRequest(kind)) figures.push(requestFigure(attributes))
    else if (kind === 'tool' && span.running !== true) {
      figures.push(toolFigure(attributes, approvalWaitMillis(waits.get(span.spanId) ?? [], namespace)))
    }
  }
  figures.push(turnFigure(turn, figures))
  return figures
}

const NO_USAGE = { input: 0, output: 0, cached: 0, nanodollars: 0 }

function requestFigure(attributes: SpanAttributes): Figure {
  const { span } = attributes
  const isOver = span.running !== true
  const { input = 0, output = 0 } = tokensOf(attributes) ?? {}
  const failure = attributes.text('error.type', 'http.response.status_code') || 'error'
  return {
    slot: slotOf(span.startAt),
    kind: 'request',
    name: shortName(attributes.text('gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name')),
    outcome: span.status === 'error' ? shortName(failure) : '',
    durations: isOver ? [wholeMillis(span.endAt - span.startAt)] : [],
    failed: Number(isOver && span.status === 'error'),
    input: Math.round(boundedTokens(input)),
    output: Math.round(boundedTokens(output)),
    cached: Math.round(boundedTokens(cachedTokensOf(attributes) ?? 0)),
    nanodollars: nanodollars(costOf(attributes) ?? 0),
  }
}

function toolFigure(attributes: SpanAttributes, waited: number): Figure {
  const { span } = attributes
  return {
    slot: slotOf(span.startAt),
    kind: 'tool',
    name: shortName(attributes.text('gen_ai.tool.name', 'tool.name')),
    outcome: shortName(attributes.text('.tool.outcome')) || (span.status === 'error' ? 'error' : 'ok'),
    durations: [wholeMillis(span.endAt - span.startAt - waited)],
    failed: Number(span.status === 'error'),
    ...NO_USAGE,
  }
}

function turnFigure(turn: StoredTurn, requests: readonly Figure[]): Figure {
  const sum = (key: 'input' | 'output' | 'nanodollars'): number => requests.reduce((all, each) => all + each[key], 0)
  const isOver = turn.runningCount === 0
  return {
    slot: slotOf(turn.startAt),
    kind: 'turn',
    name: shortName(turn.model),
    outcome: isOver ? shortName(turn.outcome?.text ?? '') : '',
    durations: isOver ? [wholeMillis(turn.durationMillis - turn.waitedMillis)] : [],
    failed: Number(isOver && turn.outcome?.tone === 'error'),
    cached: 0,
    input: Math.round((turn.tokens?.input ?? 0) - sum('input')),
    output: Math.round((turn.tokens?.output ?? 0) - sum('output')),
    nanodollars: nanodollars(turn.cost.dollars) - sum('nanodollars'),
  }
}

type PackedFigure = readonly [
  ...[slot: number, kind: FigureKind, name: string, outcome: string, durations: readonly number[]],
  ...[failed: number, input: number, output: number, cached: number, nanodollars: number],
]

function packFigures(figures: readonly Figure[]): string {
  const sums = new Map<string, { -readonly [Key in keyof Figure]: Figure[Key] } & { durations: number[] }>()
  for (const figure of figures) {
    const { slot, kind, name, outcome, durations } = figure
    const key = `${slot} ${kind} ${name.length} ${name}${outcome}`
    const sum = sums.get(key)
    if (sum === undefined) {
      sums.set(key, { ...figure, durations: [...durations] })
      continue
    }
    sum.durations.push(...durations)
    for (const amount of AMOUNTS) sum[amount] += figure[amount]
  }
  const packed = Array.from(sums.values(), (sum): PackedFigure => {
    const { slot, kind, name, outcome, durations, failed, input, output, cached, nanodollars } = sum
    return [slot, kind, name, outcome, durations, failed, input, output, cached, nanodollars]
  })
  return JSON.stringify(packed)
}

export function unpackFigures(packed: string): Figure[] {
  return (JSON.parse(packed) as PackedFigure[]).map(
    ([slot, kind, name, outcome, durations, failed, input, output, cached, nanodollars]) => {
      return { slot, kind, name, outcome, durations, failed, input, output, cached, nanodollars }
    },
  )
}
