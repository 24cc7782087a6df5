import { type Context, isSpanContextValid } from '@opentelemetry/api'
import { idOf } from '../contract/foreign.ts'
import type { Identity } from '../contract/index.ts'
import type { AnyDefinition } from '../spans/index.ts'
import { contextOf, contextOfSpan, type OpenSpan, type Turn } from './turn.ts'

/** A tool belongs to the request that asked for it, which has often ended by the time the tool runs. */
function requestOf(turn: Turn, payload: Identity): Context | undefined {
  const request = idOf(payload.api_request_id)
  if (request === undefined) return undefined
  const open = turn.open.get(`api ${request}`)
  if (open !== undefined) return contextOf(open)
  const ended = turn.ended.get(`api ${request}`)
  return ended === undefined || !isSpanContextValid(ended.context) ? undefined : contextOfSpan(ended.context)
}

function gatedTool(turn: Turn, payload: Identity): OpenSpan | undefined {
  const call = idOf(payload.tool_call_id)
  return call === undefined ? undefined : turn.open.get(`tool ${call}`)
}

/** The tool call that delegates: named by its id, else the only open tool of a delegating kind. */
function delegatingTool(turn: Turn, payload: Identity, delegatingTools: ReadonlySet<string>): OpenSpan | undefined {
  return gatedTool(turn, payload) ?? turn.stack.onlyToolNamed(delegatingTools)
}

function namedParent(
  turn: Turn,
  definition: AnyDefinition,
  payload: Identity,
  delegatingTools: ReadonlySet<string>,
): Context | undefined {
  if (definition.kind === 'tool') return requestOf(turn, payload)
  const open =
    definition.kind === 'approval'
      ? gatedTool(turn, payload)
      : definition.kind === 'subagent'
        ? delegatingTool(turn, payload, delegatingTools)
        : undefined
  return open === undefined ? undefined : contextOf(open)
}

/**
 * The parent of a new span: by id where one names it, else the innermost open span of an allowed kind, always in the own
 * turn. No ambient context is asked: what is "active" may belong to anybody.
 */
export function parentOf(
  turn: Turn,
  definition: AnyDefinition,
  payload: Identity,
  delegatingTools: ReadonlySet<string>,
): Context {
  const named = namedParent(turn, definition, payload, delegatingTools)
  if (named !== undefined) return named
  for (const kind of definition.parents) {
    const open = turn.stack.innermost(kind)
    if (open !== undefined) return contextOf(open)
  }
  return turn.root === undefined || turn.root.ended ? turn.anchor : contextOf(turn.root)
}
