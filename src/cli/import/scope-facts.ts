import { elementsOf, idOf, numberOf, textOf } from '../../contract/foreign.ts'
import type { Scope, ScopeNode } from './atof-scopes.ts'
import { fieldsOf, within } from './json-fields.ts'

const MAX_CALLS = 1000

/** The kind of a scope: explicit in our own files, derived from the category in others. */
export function kindOf({ category, metadata, name, profile }: Scope): string {
  const own = textOf(metadata['kind'])
  if (own !== undefined && textOf(metadata['span_id']) !== undefined) return own
  if (category === 'agent') return 'session'
  if (category === 'llm') return 'api'
  if (category === 'tool' || category === 'retriever' || category === 'embedder' || category === 'reranker')
    return 'tool'
  return category === 'guardrail' ? 'hook' : (textOf(profile['subtype']) ?? name)
}

export function isOurs({ metadata }: Scope): boolean {
  return textOf(metadata['kind']) !== undefined && textOf(metadata['span_id']) !== undefined
}

/** True for a scope like `hermes.turn`: a NeMo Relay session has one for each turn. */
export function isTurn({ scope }: ScopeNode): boolean {
  return scope.category === 'function' && !isOurs(scope) && /\bturn$/i.test(scope.name)
}

/** A child with its parent's session id gets an id of its own, because two agents must not share a session. */
export function sessionIdOf({ scope }: ScopeNode, above: string | undefined): string {
  const said = textOf(scope.metadata['session_id'])
  return said === undefined || said === above ? scope.uuid : said
}

export function originOf({ metadata }: Scope): Record<string, string> {
  const traceId = textOf(metadata['trace_id'])
  return { imported_from: 'atof', ...(traceId !== undefined && { imported_trace_id: traceId }) }
}

/** The agent's own requests, ordered by start. */
export function requestsBelow(turn: ScopeNode): readonly Scope[] {
  const found: Scope[] = []
  const open = [...turn.children]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const kind = kindOf(node.scope)
    if (kind === 'session') continue
    if (kind === 'api') found.push(node.scope)
    for (const child of node.children) open.push(child)
  }
  return found.sort((a, b) => a.startAt - b.startAt)
}

export function modelOfPrompt(scope: Scope | undefined): string | undefined {
  return /^(?:llm\.|turn )(.+)$/s.exec(scope?.name ?? '')?.[1]
}

export function modelsOf({ profile, metadata }: Scope): {
  readonly model: string | undefined
  readonly provider: string | undefined
} {
  return { model: textOf(profile['model_name']), provider: textOf(metadata['hermes.provider']) }
}

export function messagesOf({ profile, input }: Scope): readonly unknown[] | undefined {
  const messages = within(profile, 'annotated_request', 'messages') ?? within(input, 'content', 'messages')
  return Array.isArray(messages) ? messages : undefined
}

export function callsAskedFor({ profile }: Scope): readonly string[] {
  const calls = elementsOf(within(profile, 'annotated_response', 'tool_calls'), MAX_CALLS)
  return calls.flatMap(call => idOf(within(call, 'id')) ?? [])
}

export function askedIn(request: Scope | undefined): unknown {
  const messages = request === undefined ? undefined : messagesOf(request)
  return within(
    messages?.findLast(message => within(message, 'role') === 'user'),
    'content',
  )
}

export function answeredIn(request: Scope | undefined): unknown {
  return within(request?.profile, 'annotated_response', 'message')
}

export function answerOf({ profile, startAt, output }: Scope): object {
  const response = fieldsOf(profile['annotated_response'])
  const usage = fieldsOf(response['usage'])
  const firstAfter = numberOf(profile['time_to_first_chunk'])
  return {
    usage: Object.keys(usage).length === 0 ? undefined : usage,
    cost: usage['cost'] ?? undefined,
    response_model: textOf(response['model']),
    finish_reason: textOf(response['finish_reason']),
    first_chunk_at: firstAfter === undefined ? undefined : startAt / 1000 + firstAfter,
    response: { assistant_message: within(output, 'choices', '0', 'message') ?? { content: textOf(output) } },
  }
}

export function hasFailed({ metadata, output }: Scope): boolean {
  if (metadata['status'] === 'error' || metadata['otel.status_code'] === 'ERROR') return true
  return /^(?:error|failed|failure)$/i.test(String(within(output, 'outcome') ?? ''))
}

/** True for a scope of our own that was cut off without an outcome. */
export function isUnended(scope: Scope): boolean {
  const { metadata } = scope
  return isOurs(scope) && metadata['status'] === 'unset' && textOf(metadata['outcome']) === undefined
}

export function errorOf({ metadata, output }: Scope): {
  readonly type: string | undefined
  readonly message: string | undefined
} {
  const type = textOf(metadata['error_type']) ?? textOf(metadata['error.type'])
  return {
    type,
    message:
      textOf(metadata['error']) ?? textOf(metadata['otel.status_description']) ?? textOf(within(output, 'error')),
  }
}

export function statusOfCall(scope: Scope): string {
  const outcome = textOf(scope.metadata['outcome'])
  if (isOurs(scope) && outcome !== undefined && outcome !== 'completed') return outcome
  return hasFailed(scope) ? 'error' : 'ok'
}

export function outcomeOfTurn(scope: Scope): object {
  if (!isOurs(scope)) return hasFailed(scope) ? { failed: true } : { completed: true }
  const { outcome, error_type: type, error } = scope.metadata
  const status = textOf(outcome) ?? (scope.metadata['status'] === 'error' ? 'failed' : 'completed')
  const how = status === 'completed' || status === 'interrupted' || status === 'failed' ? { [status]: true } : {}
  return { ...how, turn_exit_reason: textOf(type), reason: textOf(error) }
}

export function verdictOf(scope: Scope): 'pass' | 'block' | 'failed' {
  const said = textOf(scope.metadata['outcome'])
  return said === 'block' ? 'block' : hasFailed(scope) || said === 'failed' ? 'failed' : 'pass'
}

export function asText(value: unknown): string | undefined {
  return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value)
}
