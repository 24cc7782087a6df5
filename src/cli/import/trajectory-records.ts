import { elementsOf, numberOf, textOf } from '../../contract/foreign.ts'
import type { ReadRecord } from '../raw-events.ts'
import { type Fields, fieldsOf, millisOf } from './json-fields.ts'
import { Retelling } from './retelling.ts'

const MOST = 100_000
/** A limit for documents nested in each other, which may be cyclic. */
const DEEPEST = 50

interface Ids {
  readonly session_id: string
  readonly turn_id: string
}

interface Parent extends Ids {
  readonly call: string | undefined
  readonly at: number
}

/** Converts a trajectory to hook records: a turn for each user message, a request for each answer. */
export function recordsOfTrajectory(document: unknown): readonly ReadRecord[] {
  const told = new Retelling()
  tell(fieldsOf(document), undefined, told, 0)
  return told.records()
}

/** Returns the end time. */
function tell(document: Fields, parent: Parent | undefined, told: Retelling, depth: number): number {
  return new TrajectoryTeller(document, parent, told, depth).tell()
}

class TrajectoryTeller {
  readonly #document: Fields
  readonly #told: Retelling
  readonly #depth: number
  readonly #sessionId: string
  readonly #model: string | undefined
  readonly #children: Map<string, Fields>
  readonly #isOurs: boolean
  /** A step without a time is placed one millisecond after the previous one. */
  #at: number
  #turn: Ids | undefined
  #turns = 0
  #requests = 0
  #system: string | undefined
  #answer: string | undefined
  #ends: Fields = {}

  constructor(document: Fields, parent: Parent | undefined, told: Retelling, depth: number) {
    this.#document = document
    this.#told = told
    this.#depth = depth
    this.#sessionId = sessionIdOf(document, parent?.session_id)
    this.#model = textOf(fieldsOf(document['agent'])['model_name'])
    const children = listOf(document['subagent_trajectories'])
    this.#children = new Map(children.map((child, index) => [textOf(child['trajectory_id']) ?? String(index), child]))
    const steps = listOf(document['steps'])
    this.#isOurs = steps.some(step => textOf(fieldsOf(step['extra'])['span_id']) !== undefined)
    this.#at = parent?.at ?? firstTime(steps) ?? FIRST_TIME
  }

  tell(): number {
    for (const step of listOf(this.#document['steps'])) this.#step(step)
    this.#endTurn()
    return this.#at
  }

  #step(step: Fields): void {
    const message = textIn(step['message'])
    if (step['source'] === 'system') {
      this.#system ??= message
      return
    }
    if (step['source'] === 'user') {
      this.#endTurn()
      this.#beginTurn(step, message)
      return
    }
    const turn = this.#turn ?? this.#beginTurn({}, undefined)
    for (const attempt of listOf(fieldsOf(step['extra'])['failed_attempts'])) this.#failed(turn, attempt)
    // A step without a span in our own files holds output that no request produced.
    const isApart = this.#isOurs && textOf(fieldsOf(step['extra'])['span_id']) === undefined
    const request = isApart ? undefined : this.#answered(turn, step, message)
    if (message !== undefined) this.#answer = message
    this.#calls(turn, step, request)
  }

  #beginTurn(step: Fields, message: string | undefined): Ids {
    const extra = fieldsOf(step['extra'])
    const at = this.#time(extra['start'] ?? step['timestamp'])
    const turn = { session_id: this.#sessionId, turn_id: `${this.#sessionId}:${++this.#turns}` }
    this.#told.begins(at, 'on_session_start', {
      ...turn,
      model: this.#model,
      agent_name: textOf(fieldsOf(this.#document['agent'])['name']),
      metadata: originOf(extra),
    })
    this.#told.begins(at, 'pre_llm_call', { ...turn, model: this.#model, user_message: message })
    this.#turn = turn
    this.#ends = extra
    this.#answer = undefined
    return turn
  }

  #endTurn(): void {
    const turn = this.#turn
    if (turn === undefined) return
    const at = Math.max(this.#at, millisOf(this.#ends['end']) ?? 0)
    this.#at = at
    const hasFailed = this.#ends['status'] === 'error'
    const how = hasFailed ? { failed: true, turn_exit_reason: textOf(this.#ends['error_type']) } : { completed: true }
    if (!hasFailed)
      this.#told.ends(at, 'post_llm_call', { ...turn, model: this.#model, assistant_response: this.#answer })
    this.#told.ends(at, 'on_session_end', { ...turn, ...how })
    this.#turn = undefined
  }

  #failed(turn: Ids, attempt: Fields): void {
    const request = { ...turn, api_request_id: this.#requestId(attempt), model: this.#model }
    const at = this.#time(attempt['start'])
    this.#told.begins(at, 'pre_api_request', { ...request, system_prompt: this.#system })
    const error = { type: textOf(attempt['error_type']) }
    this.#told.ends(this.#time(attempt['end']), 'api_request_error', { ...request, error, retryable: true })
  }

  #answered(turn: Ids, step: Fields, message: string | undefined): string {
    const extra = fieldsOf(step['extra'])
    const api_request_id = this.#requestId(extra)
    const model = textOf(step['model_name']) ?? (this.#isOurs ? undefined : this.#model)
    const request = { ...turn, api_request_id, model }
    const start = millisOf(extra['start']) ?? this.#at
    const end = Math.max(start, this.#time(extra['end'] ?? step['timestamp']))
    const metrics = fieldsOf(step['metrics'])
    const more = fieldsOf(metrics['extra'])
    const prompt = numberOf(metrics['prompt_tokens'])
    const output = numberOf(metrics['completion_tokens'])
    this.#told.begins(start, 'pre_api_request', { ...request, system_prompt: this.#system })
    this.#told.ends(end, 'post_api_request', {
      ...request,
      response_model: request.model,
      cost: numberOf(metrics['cost_usd']),
      usage: {
        prompt_tokens: prompt,
        output_tokens: output,
        cached_tokens: numberOf(metrics['cached_tokens']),
        cache_write_tokens: numberOf(more['cache_write_tokens']),
        reasoning_tokens: numberOf(more['reasoning_tokens']),
      },
      response: answerIn(step, message),
    })
    return api_request_id
  }

  /** A call without a result is emitted without an end. */
  #calls(turn: Ids, step: Fields, api_request_id: string | undefined): void {
    const results = listOf(fieldsOf(step['observation'])['results'])
    const asked = listOf(step['tool_calls'])
    const ids = new Set(asked.map(({ tool_call_id: id }) => id))
    const since = this.#at
    for (const call of asked) {
      const result = results.find(({ source_call_id: id }) => id === call['tool_call_id'])
      this.#call(turn, { call, result, api_request_id, since })
    }
    for (const result of results.filter(({ source_call_id: id }) => !ids.has(id))) {
      const name = textOf(fieldsOf(result['extra'])['function_name'])
      if (name === undefined) this.#delegations(turn, result, undefined)
      else this.#call(turn, { call: { function_name: name }, result, api_request_id, since })
    }
  }

  #call(
    turn: Ids,
    {
      call,
      result,
      api_request_id,
      since,
    }: {
      readonly call: Fields
      readonly result: Fields | undefined
      readonly api_request_id: string | undefined
      readonly since: number
    },
  ): void {
    const extra = fieldsOf(result?.['extra'])
    const id = textOf(call['tool_call_id']) ?? textOf(extra['span_id']) ?? `${turn.turn_id}:call`
    const args = fieldsOf(call['arguments'])
    const told = {
      ...turn,
      api_request_id,
      tool_call_id: id,
      tool_name: textOf(call['function_name']),
      args: args['_raw'] ?? args,
    }
    const start = millisOf(extra['start']) ?? since
    this.#at = Math.max(this.#at, start)
    this.#told.begins(start, 'pre_tool_call', told)
    const after = result === undefined ? start : this.#delegations(turn, result, { id, at: start })
    if (result === undefined) return
    const end = Math.max(start, millisOf(extra['end']) ?? after)
    this.#at = Math.max(this.#at, end)
    const status = extra['status'] === 'error' ? 'error' : 'ok'
    const error_type = textOf(extra['error_type'])
    this.#told.ends(end, 'post_tool_call', { ...told, result: textIn(result['content']), status, error_type })
  }

  /** Emits embedded child agents. Those in separate files are unknown. Returns the end time of the last one. */
  #delegations(turn: Ids, result: Fields, call: { readonly id: string; readonly at: number } | undefined): number {
    let last = call?.at ?? this.#at
    for (const reference of listOf(result['subagent_trajectory_ref'])) {
      const key = textOf(reference['trajectory_id']) ?? ''
      const child = this.#children.get(key)
      if (child === undefined || this.#depth >= DEEPEST) continue
      this.#children.delete(key)
      const parent = { ...turn, call: call?.id, at: firstTime(listOf(child['steps'])) ?? last }
      last = Math.max(last, this.#child(child, parent))
    }
    return last
  }

  #child(child: Fields, parent: Parent): number {
    const child_session_id = sessionIdOf(child, this.#sessionId)
    const delegation = {
      parent_session_id: parent.session_id,
      parent_turn_id: parent.turn_id,
      child_session_id,
      tool_call_id: parent.call,
    }
    this.#told.begins(parent.at, 'subagent_start', delegation)
    const end = tell(child, parent, this.#told, this.#depth + 1)
    this.#told.ends(end, 'subagent_stop', { ...delegation, child_status: 'completed' })
    this.#at = Math.max(this.#at, end)
    return end
  }

  #requestId(extra: Fields): string {
    return textOf(extra['span_id']) ?? `${this.#sessionId}:request ${++this.#requests}`
  }

  #time(timestamp: unknown): number {
    this.#at = millisOf(timestamp) ?? this.#at + 1
    return this.#at
  }
}

/** A child with its parent's session id uses the id of its trajectory, because two agents must not share a session. */
function sessionIdOf(document: Fields, parent: string | undefined): string {
  const [said, own] = [textOf(document['session_id']), textOf(document['trajectory_id'])]
  return (said === parent ? own : (said ?? own)) ?? `${parent ?? 'trajectory'}/child`
}

/** For a file without any time. */
const FIRST_TIME = Date.UTC(2026, 0, 1)

function firstTime(steps: readonly Fields[]): number | undefined {
  for (const step of steps) {
    const at = millisOf(fieldsOf(step['extra'])['start'] ?? step['timestamp'])
    if (at !== undefined) return at
  }
  return undefined
}

function originOf(extra: Fields): Record<string, string> {
  const traceId = textOf(extra['trace_id'])
  return { imported_from: 'atif', ...(traceId !== undefined && { imported_trace_id: traceId }) }
}

function answerIn(step: Fields, content: string | undefined): object | undefined {
  const reasoning = textOf(step['reasoning_content'])
  const tool_calls = listOf(step['tool_calls']).map(call => ({
    id: call['tool_call_id'],
    function: { name: call['function_name'], arguments: call['arguments'] },
  }))
  if (content === undefined && reasoning === undefined && tool_calls.length === 0) return undefined
  return { assistant_message: { content, reasoning, tool_calls } }
}

function listOf(value: unknown): readonly Fields[] {
  return elementsOf(value, MOST).map(fieldsOf)
}

/** A string, or the text parts of a list. */
function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  const texts = listOf(value).flatMap(part => textOf(part['text']) ?? [])
  return texts.length === 0 ? undefined : texts.join('\n')
}
