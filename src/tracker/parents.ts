import { type Context, isSpanContextValid } from '@opentelemetry/api'
import { elementsOf, idOf, peek, textOf, wholeOf } from '../contract/foreign.ts'
import type { ApiEnd, AuxiliaryStart, ControlHookStart, Identity, SpanKindName } from '../contract/index.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { contextOf, contextOfSpan, type TrackedSpan, type TrackedTurn } from './turn.ts'
import { slot } from './turn-history.ts'

const CALLS_LIMIT = 100

/** The request that a record names. It has often ended by the time its tools run. */
function requestOf(turn: TrackedTurn, payload: Identity): Context | undefined {
  const request = idOf(payload.api_request_id)
  return request === undefined ? undefined : requestIn(turn, slot('api', request))
}

function requestOfCall(turn: TrackedTurn, payload: Identity): Context | undefined {
  const call = idOf(payload.tool_call_id)
  const place = call === undefined ? undefined : turn.history.requestsOfCalls.get(call)
  return place === undefined ? undefined : requestIn(turn, place)
}

/** Remembers the tool calls in the answer of this slot's request: fields of its message, or parts of its content. */
export function noteCalls({ history }: TrackedTurn, place: string, { response }: ApiEnd): void {
  const message = peek(response, 'assistant_message') ?? peek(response, 'message')
  if (message === undefined) return
  for (const part of ['tool_calls', 'content']) {
    for (const call of elementsOf(peek(message, part), CALLS_LIMIT)) {
      const id = idOf(peek(call, 'id'))
      if (id !== undefined) history.requestsOfCalls.set(id, place)
    }
  }
}

function requestIn(turn: TrackedTurn, place: string): Context | undefined {
  const open = turn.open.find(place)
  // If a later attempt has already ended, that one made the call.
  if (open !== undefined && open.followedAt === undefined) return contextOf(open)
  const ended = turn.history.ended.get(place)
  if (ended !== undefined && isSpanContextValid(ended.context)) return contextOfSpan(ended.context)
  return contextIn(open)
}

function contextIn(open: TrackedSpan | undefined): Context | undefined {
  return open && contextOf(open)
}

/** Returns true if the host reports that no request made this tool call. An open request then must not become its parent. */
function isUnasked(payload: Identity): boolean {
  return wholeOf(payload.api_call_count) === 0 && idOf(payload.api_request_id) === undefined
}

function gatedTool(turn: TrackedTurn, payload: Identity): TrackedSpan | undefined {
  return turn.openSpan('tool', idOf(payload.tool_call_id))
}

/** The tool that asks the user: the one named by the question's kind, else the only open one. */
function askingTool(turn: TrackedTurn, payload: Identity): TrackedSpan | undefined {
  const named = gatedTool(turn, payload)
  const kind = named === undefined ? textOf(peek(payload, 'kind')) : undefined
  if (kind === undefined) return named
  const tools = turn.open.all(open => open.kind === 'tool')
  const asking = tools.filter(open => peek(open.start, 'tool_name') === kind)
  return asking.length === 1 ? asking[0] : tools.length === 1 ? tools[0] : undefined
}

function guardedApproval(turn: TrackedTurn, payload: AuxiliaryStart): TrackedSpan | undefined {
  return payload.aux_task === 'approval' ? turn.open.innermost('approval') : undefined
}

function callOf(turn: TrackedTurn, payload: Identity): Context | undefined {
  const open = gatedTool(turn, payload)
  if (open !== undefined) return contextOf(open)
  const ended = turn.endedSpan('tool', idOf(payload.tool_call_id))
  return ended !== undefined && isSpanContextValid(ended.context) ? contextOfSpan(ended.context) : undefined
}

function lookedAt(turn: TrackedTurn, payload: ControlHookStart): Context | undefined {
  switch (payload.hook_phase) {
    case 'before_tool':
    case 'after_tool':
      return callOf(turn, payload) ?? requestOf(turn, payload)
    case 'before_model':
    case 'after_model':
      return requestOf(turn, payload)
    default:
      return undefined
  }
}

function namedParent(
  turn: TrackedTurn,
  kind: SpanKindName,
  payload: Identity,
  delegatingTools: ReadonlySet<string>,
): Context | undefined {
  switch (kind) {
    case 'tool':
      return requestOf(turn, payload) ?? requestOfCall(turn, payload)
    case 'hook':
      return lookedAt(turn, payload)
    case 'approval':
      return contextIn(askingTool(turn, payload))
    case 'subagent':
      return contextIn(gatedTool(turn, payload) ?? turn.open.onlyToolNamed(delegatingTools))
    case 'auxiliary':
      return contextIn(guardedApproval(turn, payload))
    default:
      return undefined
  }
}

/**
 * The parent of a new span: the one named by an id, else the innermost open span of an allowed kind, always in its own
 * turn. The ambient context is never used, because the active span may be unrelated.
 */
export function parentOf(
  turn: TrackedTurn,
  { kind, parents }: AnyDefinition,
  payload: Identity,
  delegatingTools: ReadonlySet<string>,
): Context {
  const named = namedParent(turn, kind, payload, delegatingTools)
  if (named !== undefined) return named
  for (const parent of parents) {
    if (parent === 'api' && kind === 'tool' && isUnasked(payload)) continue
    const open = turn.open.innermost(parent)
    if (open !== undefined && open.followedAt === undefined) return contextOf(open)
  }
  return turn.root === undefined || turn.root.ended ? turn.anchor : contextOf(turn.root)
}
