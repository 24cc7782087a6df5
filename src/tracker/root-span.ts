import { type Attributes, type Context, type Link, ROOT_CONTEXT, type SpanContext } from '@opentelemetry/api'
import type { SafeText } from '../content/safe-text.ts'
import { idOf, peek } from '../contract/foreign.ts'
import type { SessionStart } from '../contract/index.ts'
import type { SpanFact } from '../contract/semconv/index.ts'
import type { CoreOptions } from './options.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { BACKGROUND } from './spans/session.ts'
import { parseTraceparent } from './traceparent.ts'
import { contextOfSpan, type TrackedTurn } from './turn.ts'
import { idsOf, type TurnRegistry } from './turn-registry.ts'

/** The one host whose agent has a name of its own. */
export const HERMES = 'hermes'
const HERMES_AGENT = 'hermes-agent'

/**
 * If one process serves several hosts, the agent name distinguishes them. The default of `agent_name` is the plugin's
 * host, so it does not apply to another host.
 */
export function agentNameOf(options: CoreOptions, host: string, payload: SessionStart): SafeText | undefined {
  const { capture, agentName } = options.attributeOptions
  const isOthers = host !== options.host && agentName === capture.id(options.host)
  const set = isOthers ? undefined : agentName
  return capture.id(payload.agent_name) ?? set ?? capture.id(host === HERMES ? HERMES_AGENT : host)
}

export function callerOf(options: CoreOptions, payload: SessionStart): SpanContext | undefined {
  return parseTraceparent(peek(payload, 'traceparent')) ?? options.activeSpan?.() ?? options.remoteParent
}

export function rootParent(options: CoreOptions, turn: TrackedTurn): Context {
  const { delegation, caller } = turn
  if (delegation !== undefined) return contextOfSpan(delegation.open.span.spanContext())
  return caller === undefined || options.parent === 'link' ? ROOT_CONTEXT : contextOfSpan(caller)
}

/** Links a caller that is reported after the root has started, when its parent can no longer change. */
export function linkCaller({ attributeOptions }: CoreOptions, turn: TrackedTurn, payload: SessionStart): void {
  const caller = parseTraceparent(peek(payload, 'traceparent'))
  if (caller === undefined || caller.spanId === turn.caller?.spanId || turn.delegation !== undefined) return
  turn.caller = caller
  turn.root?.span.addLink?.({ context: caller, attributes: linkAttributes(attributeOptions.facts.link, 'parent') })
}

export function linkAttributes(fact: SpanFact, value: string): Attributes {
  return Object.fromEntries(fact.map(name => [name, value]))
}

export function rootLinks(options: CoreOptions, turns: TurnRegistry, turn: TrackedTurn, payload: SessionStart): Link[] {
  const { session, delegation, caller, isBackground } = turn
  const fact = options.attributeOptions.facts.link
  const links: Link[] = []
  const link = (context: SpanContext | undefined, value: string): void => {
    if (context !== undefined) links.push({ context, attributes: linkAttributes(fact, value) })
  }
  if (session.previous?.root !== undefined) link(session.previous.root, 'previous_session')
  // Background work may begin before the end of its session's turn is reported.
  else link((isBackground ? session.main?.root?.span.spanContext() : undefined) ?? session.lastRoot, 'previous_turn')
  if (delegation !== undefined) return links
  if (options.parent === 'link') link(caller, 'parent')
  const session_id = idOf(payload.parent_session_id)
  if (session_id === undefined) return links
  const parent = turns.knownSession(idsOf('on_session_start', { session_id }, session.host))
  link(parent?.main?.root?.span.spanContext(), 'parent')
  return links
}

export function rootAttributes(options: CoreOptions, turn: TrackedTurn, payload: SessionStart): AttributeList {
  const { facts } = options.attributeOptions
  const { id } = options.attributeOptions.capture
  const { session, delegation } = turn
  const parentSession = delegation?.parentSessionId ?? idOf(payload.parent_session_id)
  return new AttributeList()
    .set(facts.agentName, turn.agentName)
    .set(facts.turnNumber, turn.number)
    .set(facts.sessionKind, turn.isBackground ? BACKGROUND : undefined)
    .set(facts.host, id(session.host))
    .set(facts.sessionPreviousId, session.previous?.id)
    .set(facts.sessionIsSubagent, parentSession === undefined && delegation === undefined ? undefined : true)
    .set(facts.subagentRole, id(delegation?.role))
    .set(facts.subagentParentSessionId, id(parentSession))
    .addAll(session.workspace)
}
