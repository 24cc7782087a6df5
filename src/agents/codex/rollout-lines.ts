import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import { FoundEvents } from './found-events.ts'
import type { Finds, Whose } from './types.ts'

const AGENTS_LIMIT = 100
const MAX_KEPT = 1000
const NANOS_PER_MILLI = 1_000_000
/** Errors that end a turn and are not failures of a model request. */
const NOT_OF_REQUESTS: ReadonlySet<string> = new Set(['sandbox_error', 'thread_rollback_failed'])
const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call'])

interface Turn {
  readonly id: string
  readonly begunAt: number
  model: unknown
  /** Time of the last input to the model: a request is sent right after it. */
  askedAt: number
  /** The model has not answered the last input. */
  isAwaiting: boolean
  /** Text and calls of the current answer. */
  texts: string[]
  calls: object[]
  /** When the last part of the answer was written; undefined if there is none. */
  partAt: number | undefined
  lastText: string | undefined
  isOver: boolean
}

/** Turns the lines of a rollout into events. Skips lines of unknown types, and lines outside a turn whose beginning was read. */
export class RolloutLines {
  readonly #about: { readonly session_id: string; readonly agent_id?: string | undefined }
  readonly found: FoundEvents = new FoundEvents()
  #turn: Turn | undefined
  #provider: unknown
  /** Time of the current line. */
  #now = 0
  readonly #calls = new LimitedMap<string, true>(MAX_KEPT)
  readonly #started = new LimitedMap<string, true>(MAX_KEPT)
  /** When the model received further input after an answer, by turn and answer. */
  readonly #followed = new LimitedMap<string, number>(MAX_KEPT)

  constructor(about: { readonly session_id: string; readonly agent_id?: string | undefined }) {
    this.#about = about
  }

  /** Resets the state after the file was replaced or a part of it was skipped. */
  restart(): void {
    this.found.clear()
    this.#turn = undefined
  }

  knowsCall(turnId: string | undefined, id: string): boolean {
    return this.#calls.has(`${turnId} ${id}`)
  }

  hasStarted(agentId: string): boolean {
    return this.#started.has(agentId)
  }

  /** @param turnId if undefined, the last turn */
  isOver(turnId: string | undefined): boolean {
    const turn = this.#turn
    return turn?.isOver !== false || (turnId !== undefined && turnId !== turn.id)
  }

  /** Returns true if the turn continued after this answer, later than `at`. */
  hasGoneOn(turnId: string | undefined, answer: string, at: number): boolean {
    return (this.#followed.get(`${turnId} ${answer}`) ?? 0) > at
  }

  line(text: string): void {
    const line = jsonIn(text)
    const at = Date.parse(textOf(peek(line, 'timestamp')) ?? '')
    if (Number.isNaN(at)) return
    this.#now = at
    const payload = peek(line, 'payload')
    switch (peek(line, 'type')) {
      case 'session_meta':
        this.#provider = peek(payload, 'model_provider')
        break
      case 'turn_context':
        if (this.#turn !== undefined) this.#turn.model = peek(payload, 'model')
        break
      case 'event_msg':
        this.#event(at, payload)
        break
      case 'response_item':
        this.#item(at, payload)
        break
      case 'compacted':
        this.#asked(at)
        break
      case 'token_usage_record':
        this.#answered(at, payload)
        break
    }
  }

  #event(at: number, payload: unknown): void {
    switch (peek(payload, 'type')) {
      case 'task_started':
        this.#begin(at, idOf(peek(payload, 'turn_id')))
        break
      case 'item_completed':
        this.#judged(at, payload)
        break
      case 'task_complete':
        this.#end(at, payload)
        break
      case 'turn_aborted':
        this.#over({ at, outcome: 'interrupted', reason: textOf(peek(payload, 'reason')) })
        break
    }
  }

  #begin(at: number, id: string | undefined): void {
    if (id === undefined) return
    const nothing = {
      model: undefined,
      texts: [],
      calls: [],
      partAt: undefined,
      lastText: undefined,
      followedText: undefined,
    }
    this.#turn = { ...nothing, id, begunAt: at, askedAt: at, isAwaiting: true, isOver: false }
  }

  #tell<Name extends keyof Finds>(name: Name, facts: Omit<Finds[Name], keyof Whose>): void {
    const turn = this.#turn
    if (turn === undefined) return
    const event = { event: `rollout:${name}`, data: { ...this.#about, turn_id: turn.id, ...facts } }
    this.found.add({ at: this.#now, turn: turn.id, begunAt: turn.begunAt, event })
  }

  /** Handles an item sent by the model or to it. */
  #item(at: number, payload: unknown): void {
    const type = textOf(peek(payload, 'type')) ?? ''
    if (type.endsWith('_output')) {
      this.#asked(at)
      this.#returned(at, payload)
    } else if (type !== 'message') this.#part(at, type, payload)
    else if (peek(payload, 'role') === 'assistant') this.#part(at, type, payload)
    else this.#asked(at)
  }

  /** Handles input to the model: it completes the previous answer, even without a token count. */
  #asked(at: number): void {
    const turn = this.#turn
    if (turn === undefined) return
    if (turn.partAt !== undefined) this.#answered(turn.partAt, undefined)
    turn.askedAt = at
    if (!turn.isAwaiting && turn.lastText !== undefined) this.#followed.set(`${turn.id} ${turn.lastText}`, at)
    turn.isAwaiting = true
  }

  #part(at: number, type: string, payload: unknown): void {
    const turn = this.#turn
    const isCall = CALLS.has(type)
    // Unknown item types are no part of an answer.
    if (turn === undefined || !(isCall || type === 'message' || type === 'reasoning' || type.endsWith('_call'))) return
    turn.partAt = at
    const text = type === 'message' ? plainText(peek(payload, 'content')) : undefined
    if (text !== undefined) turn.texts.push(text)
    if (isCall) this.#called(turn, at, payload)
  }

  #called(turn: Turn, at: number, payload: unknown): void {
    const call_id = idOf(peek(payload, 'call_id'))
    if (call_id === undefined) return
    const name = `${textOf(peek(payload, 'namespace')) ?? ''}${textOf(peek(payload, 'name')) ?? ''}`
    const args = peek(payload, 'arguments') ?? peek(payload, 'input')
    turn.calls.push({ id: call_id, name, arguments: args })
    this.#calls.set(`${turn.id} ${call_id}`, true)
    this.#tell('call', { ...this.#request(turn), call_id, name, arguments: args, at })
  }

  #request(turn: Turn): { started_at: number; model: unknown; provider: unknown } {
    return { started_at: turn.askedAt, model: turn.model, provider: this.#provider }
  }

  /** @param payload undefined if no tokens were counted */
  #answered(at: number, payload: unknown): void {
    const turn = this.#turn
    const turnId = idOf(peek(payload, 'turn_id'))
    if (turn === undefined || (turnId !== undefined && turnId !== turn.id)) return
    const { texts, calls } = turn
    const said = { response_id: peek(payload, 'response_id'), usage: peek(payload, 'usage') }
    const text = texts.length === 0 ? undefined : texts.join('\n')
    this.#tell('answer', { ...this.#request(turn), ...said, text, calls, ended_at: at })
    Object.assign(turn, { texts: [], calls: [], partAt: undefined, lastText: text, isAwaiting: false })
  }

  #returned(at: number, payload: unknown): void {
    const call_id = idOf(peek(payload, 'call_id'))
    const output = peek(payload, 'output')
    if (call_id !== undefined) this.#tell('output', { call_id, at, output: plainText(output) ?? output })
  }

  /** Handles a tool's status. Messages are items as well and have none. */
  #judged(at: number, payload: unknown): void {
    const item = peek(payload, 'item')
    const call_id = idOf(peek(item, 'id'))
    const status = peek(item, 'status')
    if (call_id === undefined || status === undefined) return
    const duration = peek(item, 'duration')
    const seconds = numberOf(peek(duration, 'secs')) ?? 0
    const millis = seconds * 1000 + (numberOf(peek(duration, 'nanos')) ?? 0) / NANOS_PER_MILLI
    const end = numberOf(peek(payload, 'completed_at_ms'))
    const ran_at = duration === undefined || end === undefined ? undefined : end - millis
    // Other tools list agents that were started by an earlier call.
    const isStart = peek(item, 'tool') === 'spawn_agent'
    const agents = isStart ? elementsOf(peek(item, 'receiver_agents'), AGENTS_LIMIT).map(agentOf) : undefined
    for (const { id } of agents ?? []) this.#started.set(idOf(id) ?? '', true)
    this.#tell('item', {
      call_id,
      at,
      status,
      exit_code: peek(item, 'exit_code'),
      ran_at,
      agents,
    })
  }

  #end(at: number, payload: unknown): void {
    const error = peek(payload, 'error')
    if (error === undefined || error === null) {
      this.#over({ at, outcome: 'completed', text: peek(payload, 'last_agent_message') })
      return
    }
    const { type, status } = kindOf(peek(error, 'codex_error_info'))
    const turn = this.#turn
    if (turn?.isAwaiting === true && !NOT_OF_REQUESTS.has(type))
      this.#tell('failure', {
        ...this.#request(turn),
        at,
        error: { type, message: textOf(peek(error, 'message')) },
        status,
      })
    this.#over({ at, outcome: 'failed', reason: type })
  }

  #over(facts: Omit<Finds['over'], keyof Whose>): void {
    const turn = this.#turn
    if (turn === undefined || turn.isOver) return
    if (turn.partAt !== undefined) this.#answered(turn.partAt, undefined)
    turn.isOver = true
    this.#tell('over', facts)
  }
}

function agentOf(agent: unknown): { readonly id: unknown; readonly role: unknown } {
  return { id: peek(agent, 'thread_id'), role: peek(agent, 'agent_role') }
}

/** Parses an error kind: a string, or an object with one key, whose value may contain the HTTP status. */
function kindOf(info: unknown): { readonly type: string; readonly status: number | undefined } {
  const word = textOf(info)
  const [key] = word === undefined && typeof info === 'object' && info !== null ? Object.keys(info) : []
  const status = key === undefined ? undefined : numberOf(peek(peek(info, key), 'http_status_code'))
  return { type: word ?? key ?? 'other', status }
}
