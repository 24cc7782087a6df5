import { elementsOf, idOf, numberOf, textOf } from '../../contract/foreign.ts'
import type { ReadRecord } from '../raw-events.ts'
import type { Scope, ScopeNode } from './atof-scopes.ts'
import { fieldsOf, within } from './json-fields.ts'
import { Retelling } from './retelling.ts'

/** Where something stands: the turn that it is in, and what is above it in that. */
interface Place {
  readonly turn: Turn
  readonly request: string | undefined
  readonly call: string | undefined
  /** Somebody has said already that an agent is started here. */
  readonly isDelegated: boolean
}

interface Turn {
  readonly ids: { readonly session_id: string; readonly turn_id: string | undefined }
  readonly calls: Call[]
  /** By what the file calls them, and by the calls that they asked for. */
  readonly requests: Map<string, string>
}

interface Call {
  readonly id: string
  readonly startAt: number
  readonly endAt: number
}

type Visit = { readonly node: ScopeNode; readonly place: Place | undefined; readonly session: Session | undefined }

/** An agent whose turns are scopes of their own. */
interface Session {
  readonly node: ScopeNode
  readonly id: string
  readonly place: Place | undefined
}

const MOST_CALLS = 1000

/** What the trees of a file say, as hook records. */
export function recordsOfScopes(roots: readonly ScopeNode[]): readonly ReadRecord[] {
  const teller = new Teller()
  const open: Visit[] = [...roots].reverse().map(node => ({ node, place: undefined, session: undefined }))
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const below = teller.tell(visit)
    for (const node of [...visit.node.children].reverse()) open.push({ node, ...below })
  }
  return teller.told.recordsOutsideIn()
}

class Teller {
  readonly told: Retelling = new Retelling()

  tell(visit: Visit): Omit<Visit, 'node'> {
    const { node, place, session } = visit
    const { scope } = node
    if (kindOf(scope) === 'session' && node.children.some(isTurn)) {
      return { place: undefined, session: { node, id: sessionIdOf(node, place), place } }
    }
    if (kindOf(scope) === 'session') return this.#turn(node, sessionIdOf(node, place), place)
    if (session !== undefined && (place === undefined || isTurn(node))) {
      return this.#turn(node, session.id, session.place, session)
    }
    if (place !== undefined) return { place: this.#part(node, place), session: undefined }
    if (isOurs(scope) && kindOf(scope) === 'auxiliary') {
      const ids = { session_id: sessionIdOf(node, undefined), turn_id: undefined }
      this.#sideCall(scope, { ids, calls: [], requests: new Map() })
      return { place, session }
    }
    const { place: made } = this.#turn(node, sessionIdOf(node, undefined), undefined)
    return { place: this.#part(node, made), session: undefined }
  }

  #turn(
    node: ScopeNode,
    session_id: string,
    above: Place | undefined,
    session?: Session,
  ): { readonly place: Place; readonly session: undefined } {
    const { scope } = node
    const ids = { session_id, turn_id: textOf(scope.metadata['turn_id']) ?? scope.uuid }
    const isFirst = session === undefined || session.node.children.find(isTurn) === node
    const parent = above === undefined ? undefined : this.#delegation(session?.node ?? node, ids.session_id, above)
    const prompt = node.children.find(({ scope: each }) => kindOf(each) === 'llm')
    const requests = requestsBelow(node)
    const model =
      isOurs(scope) && prompt !== undefined ? modelOfPrompt(prompt.scope) : textOf(requests[0]?.profile['model_name'])
    const begin = isFirst ? (session?.node.scope.startAt ?? scope.startAt) : scope.startAt
    this.told.begins(begin, 'on_session_start', {
      ...ids,
      model,
      agent_name: textOf(scope.metadata['agent_name']),
      parent_session_id: parent,
      metadata: originOf(scope),
    })
    const owns = isOurs(scope)
    if (!owns || prompt !== undefined) {
      const user_message = owns
        ? asText(scope.input ?? prompt?.scope.input)
        : (textOf(scope.input) ?? askedIn(requests[0]))
      this.told.begins(prompt?.scope.startAt ?? scope.startAt, 'pre_llm_call', { ...ids, model, user_message })
    }
    const { endAt } = scope
    if (endAt !== undefined) {
      this.told.ends(endAt, 'on_session_end', { ...ids, ...outcomeOfTurn(scope) })
      const answer = owns ? asText(scope.output) : (textOf(scope.output) ?? answeredIn(requests.at(-1)))
      const answeredAt = owns ? prompt?.scope.endAt : endAt
      const isAnswered = owns ? prompt?.scope.metadata['status'] === 'ok' : !hasFailed(scope)
      if (isAnswered && answeredAt !== undefined) {
        this.told.ends(answeredAt, 'post_llm_call', { ...ids, model, assistant_response: answer })
      }
    }
    const turn = { ids, calls: [], requests: new Map() }
    return { place: { turn, request: undefined, call: undefined, isDelegated: false }, session: undefined }
  }

  /** Returns the session that a child's start names as its parent's, where nothing else says who started it. */
  #delegation({ scope }: ScopeNode, child_session_id: string, { turn, call, isDelegated }: Place): string | undefined {
    if (isDelegated) return undefined
    if (isOurs(scope)) return turn.ids.session_id
    // Where the agent does not say by which tool, it is the one that was running.
    const running = turn.calls.findLast(({ startAt, endAt }) => startAt <= scope.startAt && scope.startAt <= endAt)
    const delegation = {
      parent_session_id: turn.ids.session_id,
      parent_turn_id: turn.ids.turn_id,
      child_session_id,
      tool_call_id: call ?? running?.id,
    }
    this.told.begins(scope.startAt, 'subagent_start', delegation)
    if (scope.endAt !== undefined) {
      const child_status = hasFailed(scope) ? 'failed' : 'completed'
      this.told.ends(scope.endAt, 'subagent_stop', { ...delegation, child_status })
    }
    return undefined
  }

  #part(node: ScopeNode, place: Place): Place {
    const { scope } = node
    switch (kindOf(scope)) {
      case 'api':
        this.#request(scope, place.turn)
        return { ...place, request: scope.uuid }
      case 'auxiliary':
        this.#sideCall(scope, place.turn)
        return place
      case 'tool':
        return this.#call(scope, place)
      case 'subagent':
        return this.#subagent(node, place)
      case 'approval':
        this.#approval(scope, place)
        return place
      case 'hook':
        this.#guard(scope, place)
        return place
      default:
        return place
    }
  }

  #request(scope: Scope, { ids, requests }: Turn): void {
    const request = { ...ids, api_request_id: scope.uuid, ...modelsOf(scope) }
    requests.set(textOf(scope.metadata['api_request_id']) ?? scope.uuid, scope.uuid)
    for (const call of callsAskedFor(scope)) requests.set(`call ${call}`, scope.uuid)
    this.told.begins(scope.startAt, 'pre_api_request', { ...request, request_messages: messagesOf(scope) })
    const { endAt } = scope
    if (endAt === undefined || isUnended(scope)) return
    if (hasFailed(scope))
      this.told.ends(endAt, 'api_request_error', { ...request, error: errorOf(scope), retryable: false })
    else this.told.ends(endAt, 'post_api_request', { ...request, ...answerOf(scope) })
  }

  #sideCall(scope: Scope, { ids }: Turn): void {
    const call = {
      ...ids,
      api_request_id: scope.uuid,
      ...modelsOf(scope),
      aux_task: /^aux\.(.+)$/s.exec(scope.name)?.[1],
    }
    this.told.begins(scope.startAt, 'pre_auxiliary_call', call)
    const { endAt } = scope
    if (endAt === undefined || isUnended(scope)) return
    const failure = hasFailed(scope)
      ? { error_type: errorOf(scope).type ?? 'error', error: errorOf(scope) }
      : answerOf(scope)
    this.told.ends(endAt, 'post_auxiliary_call', { ...call, ...failure })
  }

  #call(scope: Scope, { turn, request, isDelegated }: Place): Place {
    const { ids, calls, requests } = turn
    const id = textOf(scope.profile['tool_call_id']) ?? scope.uuid
    const named = textOf(scope.metadata['api_request_id'])
    const api_request_id = request ?? (named && requests.get(named)) ?? requests.get(`call ${id}`)
    const call = { ...ids, api_request_id, tool_call_id: id, tool_name: scope.name, args: scope.input }
    const { endAt } = scope
    calls.push({ id, startAt: scope.startAt, endAt: endAt ?? Number.POSITIVE_INFINITY })
    this.told.begins(scope.startAt, 'pre_tool_call', call)
    if (endAt !== undefined && !isUnended(scope)) {
      const error = errorOf(scope)
      const status = statusOfCall(scope)
      this.told.ends(endAt, 'post_tool_call', {
        ...call,
        result: scope.output,
        status,
        error_type: error.type,
        error_message: error.message,
      })
    }
    return { turn, request: api_request_id, call: id, isDelegated }
  }

  #subagent({ scope, children }: ScopeNode, place: Place): Place {
    const child = children.find(({ scope: each }) => kindOf(each) === 'session')
    const delegation = {
      parent_session_id: place.turn.ids.session_id,
      parent_turn_id: place.turn.ids.turn_id,
      child_session_id: child && sessionIdOf(child, place),
      child_subagent_id: child === undefined ? scope.uuid : undefined,
      tool_call_id: place.call,
      child_role: /^(?:subagent\.|invoke_agent )(.+)$/s.exec(scope.name)?.[1],
    }
    this.told.begins(scope.startAt, 'subagent_start', { ...delegation, child_goal: scope.input })
    if (scope.endAt !== undefined && !isUnended(scope)) {
      const child_status = hasFailed(scope) ? 'failed' : 'completed'
      this.told.ends(scope.endAt, 'subagent_stop', { ...delegation, child_status, child_summary: scope.output })
    }
    return { ...place, isDelegated: true }
  }

  #approval(scope: Scope, { turn: { ids }, call }: Place): void {
    const [, word, pattern] = /^(approval|question)(?:[. ](.+))?$/s.exec(scope.name) ?? []
    const asked = { ...ids, tool_call_id: call, request_id: scope.uuid }
    const outcome = textOf(scope.metadata['outcome'])
    const endAt = isUnended(scope) && outcome === undefined ? undefined : scope.endAt
    if (word === 'question') {
      this.told.begins(scope.startAt, 'on_human_input_request', { ...asked, kind: pattern, prompt: scope.input })
      if (endAt !== undefined) this.told.ends(endAt, 'on_human_input_resolved', { ...asked, kind: pattern, outcome })
      return
    }
    this.told.begins(scope.startAt, 'pre_approval_request', { ...asked, pattern_key: pattern, command: scope.input })
    if (endAt !== undefined)
      this.told.ends(endAt, 'post_approval_response', { ...asked, pattern_key: pattern, choice: outcome })
  }

  #guard(scope: Scope, { turn: { ids }, call, request }: Place): void {
    const hook_name = scope.name.replace(/^hook[. ]/, '')
    const hook_phase = call !== undefined ? 'before_tool' : request !== undefined ? 'before_model' : 'before_turn'
    const run = {
      ...ids,
      hook_run_id: scope.uuid,
      hook_name,
      hook_phase,
      tool_call_id: call,
      api_request_id: request,
    } as const
    this.told.begins(scope.startAt, 'pre_control_hook', { ...run, hook_judges: true })
    if (scope.endAt !== undefined)
      this.told.ends(scope.endAt, 'post_control_hook', { ...run, verdict: verdictOf(scope) })
  }
}

/** The kind in our words: those of our own files say it, of others the category does. */
function kindOf({ category, metadata, name, profile }: Scope): string {
  const own = textOf(metadata['kind'])
  if (own !== undefined && textOf(metadata['span_id']) !== undefined) return own
  if (category === 'agent') return 'session'
  if (category === 'llm') return 'api'
  if (category === 'tool' || category === 'retriever' || category === 'embedder' || category === 'reranker')
    return 'tool'
  return category === 'guardrail' ? 'hook' : (textOf(profile['subtype']) ?? name)
}

function isOurs({ metadata }: Scope): boolean {
  return textOf(metadata['kind']) !== undefined && textOf(metadata['span_id']) !== undefined
}

/** `hermes.turn`: a session of NeMo Relay has one for each turn. */
function isTurn({ scope }: ScopeNode): boolean {
  return scope.category === 'function' && !isOurs(scope) && /\bturn$/i.test(scope.name)
}

/** Of a child that says its parent's, an id of its own: two agents are never one session. */
function sessionIdOf({ scope }: ScopeNode, above: Place | undefined): string {
  const said = textOf(scope.metadata['session_id'])
  return said === undefined || said === above?.turn.ids.session_id ? scope.uuid : said
}

function originOf({ metadata }: Scope): Record<string, string> {
  const traceId = textOf(metadata['trace_id'])
  return { imported_from: 'atof', ...(traceId !== undefined && { imported_trace_id: traceId }) }
}

/** Requests of the agent itself, in the order of their starts. */
function requestsBelow(turn: ScopeNode): readonly Scope[] {
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

function modelOfPrompt(scope: Scope | undefined): string | undefined {
  return /^(?:llm\.|turn )(.+)$/s.exec(scope?.name ?? '')?.[1]
}

function modelsOf({ profile, metadata }: Scope): {
  readonly model: string | undefined
  readonly provider: string | undefined
} {
  return { model: textOf(profile['model_name']), provider: textOf(metadata['hermes.provider']) }
}

function messagesOf({ profile, input }: Scope): readonly unknown[] | undefined {
  const messages = within(profile, 'annotated_request', 'messages') ?? within(input, 'content', 'messages')
  return Array.isArray(messages) ? messages : undefined
}

function callsAskedFor({ profile }: Scope): readonly string[] {
  const calls = elementsOf(within(profile, 'annotated_response', 'tool_calls'), MOST_CALLS)
  return calls.flatMap(call => idOf(within(call, 'id')) ?? [])
}

function askedIn(request: Scope | undefined): unknown {
  const messages = request === undefined ? undefined : messagesOf(request)
  return within(
    messages?.findLast(message => within(message, 'role') === 'user'),
    'content',
  )
}

function answeredIn(request: Scope | undefined): unknown {
  return within(request?.profile, 'annotated_response', 'message')
}

function answerOf({ profile, startAt, output }: Scope): object {
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

function hasFailed({ metadata, output }: Scope): boolean {
  if (metadata['status'] === 'error' || metadata['otel.status_code'] === 'ERROR') return true
  return /^(?:error|failed|failure)$/i.test(String(within(output, 'outcome') ?? ''))
}

/** Of our own: it was cut off, and nobody said how it ended. */
function isUnended(scope: Scope): boolean {
  const { metadata } = scope
  return isOurs(scope) && metadata['status'] === 'unset' && textOf(metadata['outcome']) === undefined
}

function errorOf({ metadata, output }: Scope): {
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

function statusOfCall(scope: Scope): string {
  const outcome = textOf(scope.metadata['outcome'])
  if (isOurs(scope) && outcome !== undefined && outcome !== 'completed') return outcome
  return hasFailed(scope) ? 'error' : 'ok'
}

function outcomeOfTurn(scope: Scope): object {
  if (!isOurs(scope)) return hasFailed(scope) ? { failed: true } : { completed: true }
  const { outcome, error_type: type, error } = scope.metadata
  const status = textOf(outcome) ?? (scope.metadata['status'] === 'error' ? 'failed' : 'completed')
  const how = status === 'completed' || status === 'interrupted' || status === 'failed' ? { [status]: true } : {}
  return { ...how, turn_exit_reason: textOf(type), reason: textOf(error) }
}

function verdictOf(scope: Scope): 'pass' | 'block' | 'failed' {
  const said = textOf(scope.metadata['outcome'])
  return said === 'block' ? 'block' : hasFailed(scope) || said === 'failed' ? 'failed' : 'pass'
}

function asText(value: unknown): string | undefined {
  return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value)
}
