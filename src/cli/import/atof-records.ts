import { textOf } from '../../contract/foreign.ts'
import type { ReadRecord } from '../raw-events.ts'
import type { Scope, ScopeNode } from './atof-scopes.ts'
import { Retelling } from './retelling.ts'
import {
  answeredIn,
  answerOf,
  askedIn,
  asText,
  callsAskedFor,
  errorOf,
  hasFailed,
  isOurs,
  isTurn,
  isUnended,
  kindOf,
  messagesOf,
  modelOfPrompt,
  modelsOf,
  originOf,
  outcomeOfTurn,
  requestsBelow,
  sessionIdOf,
  statusOfCall,
  verdictOf,
} from './scope-facts.ts'

/** The position of a scope: its turn and its ancestors within the turn. */
interface Place {
  readonly turn: Turn
  readonly request: string | undefined
  readonly call: string | undefined
  /** A delegation has already been emitted above this scope. */
  readonly isDelegated: boolean
}

interface Turn {
  readonly ids: { readonly session_id: string; readonly turn_id: string | undefined }
  readonly calls: Call[]
  /** Request ids by their ids in the file, and by the tool calls they requested. */
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
      return { place: undefined, session: { node, id: sessionIdOf(node, place?.turn.ids.session_id), place } }
    }
    if (kindOf(scope) === 'session') return this.#turn(node, sessionIdOf(node, place?.turn.ids.session_id), place)
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

  /**
   * Emits the delegation to a child. For our own files, returns the parent session id instead, for the child's start record.
   */
  #delegation({ scope }: ScopeNode, child_session_id: string, { turn, call, isDelegated }: Place): string | undefined {
    if (isDelegated) return undefined
    if (isOurs(scope)) return turn.ids.session_id
    // If the agent does not name the tool, use the one that was running.
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
      child_session_id: child && sessionIdOf(child, place?.turn.ids.session_id),
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
