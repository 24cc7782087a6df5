import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, agentFolders, openAgentFile } from '../base/agent-file.ts'
import { timestampOf } from '../base/event-machine.ts'
import type { FindingOwner, FindingsEnd } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { READS_FIRST } from './events.ts'

/** A rollout lags behind the hooks by some milliseconds. The end of a turn is written after its hooks. */
const PATIENCE_MILLIS = 500
const LOOK_MILLIS = 20
const FILES_LIMIT = 200
const ROLLOUT = /(?:^|[/\\])rollout-[^/\\]+\.jsonl$/
const ENDS: ReadonlySet<string> = new Set(['Stop', 'SubagentStop', 'Interrupt', 'SessionEnd'])

interface ReadTrigger {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly turnId: string | undefined
  readonly agentId: string | undefined
}

export class CodexAdapter implements ReceiverAdapter {
  readonly #environment: AdapterEnvironment
  readonly #rollouts = new LimitedMap<string, RolloutFile>(FILES_LIMIT)

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    return event === undefined || event.startsWith('rollout:') ? [] : [{ event, at, data: body }]
  }

  async enrich({ event, data, at = Number.POSITIVE_INFINITY }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const trigger = { event, at, data, turnId: idOf(peek(data, 'turn_id')), agentId: idOf(peek(data, 'agent_id')) }
    if (event === 'SubagentStart') return [...(await this.#readParents(session_id, trigger)), readEnd({ session_id })]
    // The end of a child names both files.
    const path = textOf(peek(data, 'agent_transcript_path')) ?? textOf(peek(data, 'transcript_path'))
    if (path === undefined || !ROLLOUT.test(path)) return [readEnd({ session_id })]
    const owner = { session_id, agent_id: trigger.agentId }
    const rollout = this.#rollouts.recall(path, () => new RolloutFile(path, owner))
    await this.#read([rollout], trigger)
    const goesOn = hasContinued(rollout.lines, trigger)
    const found = rollout.lines.drainFindings(at, found => ENDS.has(event) && !goesOn && isEndOf(found, trigger))
    const { repository, branch } = rollout.lines
    return [...found, readEnd({ session_id, goes_on: goesOn || undefined, repository, branch })]
  }

  /** Reads the parents' rollouts: only they record which call started the child. */
  async #readParents(session_id: string, trigger: ReadTrigger): Promise<readonly HostEvent[]> {
    const parents = [...this.#rollouts.values()].filter(({ owner }) => owner.session_id === session_id)
    await this.#read(parents, trigger)
    return parents.flatMap(({ lines }) => lines.drainFindings(trigger.at, found => isStartOf(found, trigger)))
  }

  async #read(rollouts: readonly RolloutFile[], trigger: ReadTrigger): Promise<void> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const readable = rollouts.map(rollout => rollout.read(this.#environment.place).catch(() => false))
      const isThere = (await Promise.all(readable)).includes(true)
      if (!isThere || rollouts.some(({ lines }) => isEnough(lines, trigger)) || waited >= PATIENCE_MILLIS) return
      await this.#environment.wait(LOOK_MILLIS)
    }
  }
}

function readEnd(data: FindingsEnd): HostEvent {
  return { event: 'rollout:read', data }
}

function isEnough(lines: RolloutLines, trigger: ReadTrigger): boolean {
  const { event, data, turnId, agentId } = trigger
  if (event === 'SubagentStart') return agentId === undefined || lines.hasStartedAgent(agentId)
  if (event === 'PreToolUse') return lines.knowsCall(turnId, idOf(peek(data, 'tool_use_id')) ?? '')
  return !ENDS.has(event) || lines.hasEnded(turnId) || hasContinued(lines, trigger)
}

function isEndOf({ turn, begunAt, event }: PendingFinding, { turnId, at }: ReadTrigger): boolean {
  return event.event === 'rollout:over' && (turnId === undefined ? begunAt <= at : turn === turnId)
}

function isStartOf({ event }: PendingFinding, { agentId }: ReadTrigger): boolean {
  const agents = elementsOf(peek(event.data, 'agents'), Infinity)
  return event.event === 'rollout:item' && agents.some(agent => peek(agent, 'id') === agentId)
}

function hasContinued(lines: RolloutLines, { event, at, data, turnId }: ReadTrigger): boolean {
  const answer = textOf(peek(data, 'last_assistant_message'))
  return (
    (event === 'Stop' || event === 'SubagentStop') && answer !== undefined && lines.hasContinued(turnId, answer, at)
  )
}

class RolloutFile {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly owner: FindingOwner
  readonly lines: RolloutLines

  constructor(path: string, owner: FindingOwner) {
    this.#path = path
    this.owner = owner
    this.lines = new RolloutLines(owner)
  }

  read(place: AgentFolders): Promise<boolean> {
    return this.#reader.readFrom(
      openAgentFile(this.#path, place, 'sessions'),
      line => this.lines.readLine(line),
      () => this.lines.resetTurn(),
    )
  }
}

export const codex: ReceiverAdapter = new CodexAdapter({
  place: agentFolders(['CODEX_HOME'], '.codex'),
  wait: sleep,
})

const AGENTS_LIMIT = 100
const MAX_KEPT = 1000
const NANOS_PER_MILLI = 1_000_000
const NON_REQUEST_ERRORS: ReadonlySet<string> = new Set(['sandbox_error', 'thread_rollback_failed'])
const CALL_TYPES: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call'])

interface RolloutTurn {
  readonly id: string
  readonly begunAt: number
  model: unknown
  /** Time of the last input to the model: a request is sent right after it. */
  askedAt: number
  isAwaiting: boolean
  texts: string[]
  calls: object[]
  partAt: number | undefined
  lastText: string | undefined
  hasEnded: boolean
}

interface PendingFinding {
  readonly at: number
  readonly turn: string
  readonly begunAt: number
  readonly event: HostEvent
}

/** Keeps the last two turns of a first read, which contains all turns ever recorded; only the last two may be new. */
function lastTurns(found: readonly PendingFinding[]): readonly PendingFinding[] {
  const turns = [...new Set(found.map(({ turn }) => turn))].slice(-2)
  return found.filter(({ turn }) => turns.includes(turn))
}

/** Turns the lines of a rollout into events. Skips lines of unknown types, and lines outside a turn whose beginning was read. */
export class RolloutLines {
  readonly #owner: FindingOwner
  #pending: PendingFinding[] = []
  #hasDrained = false
  #turn: RolloutTurn | undefined
  #provider: unknown
  repository: string | undefined
  branch: string | undefined
  #now = 0
  readonly #calls = new LimitedMap<string, true>(MAX_KEPT)
  readonly #startedAgents = new LimitedMap<string, true>(MAX_KEPT)
  readonly #continuedAt = new LimitedMap<string, number>(MAX_KEPT)

  constructor(owner: FindingOwner) {
    this.#owner = owner
  }

  resetTurn(): void {
    this.#pending = []
    this.#turn = undefined
  }

  /**
   * Takes the findings written before a hook fired. Later ones belong to later hooks, which may be on their way.
   *
   * @param at when the hook fired, epoch milliseconds
   * @param isOfHook selects findings that belong to this hook even if written later, together with all before them
   */
  drainFindings(at: number, isOfHook: (found: PendingFinding) => boolean): HostEvent[] {
    const end = this.#pending.findLastIndex(isOfHook)
    const isNow = (each: PendingFinding, index: number): boolean => each.at <= at || index <= end
    const now = this.#pending.filter(isNow)
    this.#pending = this.#pending.filter((each, index) => !isNow(each, index))
    const drained = this.#hasDrained ? now : lastTurns(now)
    this.#hasDrained = true
    return drained.map(({ event }) => event)
  }

  knowsCall(turnId: string | undefined, id: string): boolean {
    return this.#calls.has(`${turnId} ${id}`)
  }

  hasStartedAgent(agentId: string): boolean {
    return this.#startedAgents.has(agentId)
  }

  hasEnded(turnId: string | undefined): boolean {
    const turn = this.#turn
    return turn?.hasEnded !== false || (turnId !== undefined && turnId !== turn.id)
  }

  hasContinued(turnId: string | undefined, answer: string, at: number): boolean {
    return (this.#continuedAt.get(`${turnId} ${answer}`) ?? 0) > at
  }

  readLine(text: string): void {
    const line = jsonIn(text)
    const at = timestampOf(line)
    if (at === undefined) return
    this.#now = at
    const payload = peek(line, 'payload')
    switch (peek(line, 'type')) {
      case 'session_meta':
        this.#provider = peek(payload, 'model_provider')
        this.repository = textOf(peek(peek(payload, 'git'), 'repository_url'))
        this.branch = textOf(peek(peek(payload, 'git'), 'branch'))
        break
      case 'turn_context':
        if (this.#turn !== undefined) this.#turn.model = peek(payload, 'model')
        break
      case 'event_msg':
        this.#readEvent(at, payload)
        break
      case 'response_item':
        this.#readItem(at, payload)
        break
      case 'compacted':
        this.#noteModelInput(at)
        break
      case 'token_usage_record':
        this.#endAnswer(at, payload)
        break
    }
  }

  #readEvent(at: number, payload: unknown): void {
    switch (peek(payload, 'type')) {
      case 'task_started':
        this.#startTurn(at, idOf(peek(payload, 'turn_id')))
        break
      case 'item_completed':
        this.#addItemStatus(at, payload)
        break
      case 'task_complete':
        this.#completeTask(at, payload)
        break
      case 'turn_aborted':
        this.#endTurn({ at, outcome: 'interrupted', reason: textOf(peek(payload, 'reason')) })
        break
    }
  }

  #startTurn(at: number, id: string | undefined): void {
    if (id === undefined) return
    const nothing = { model: undefined, texts: [], calls: [], partAt: undefined, lastText: undefined }
    this.#turn = { ...nothing, id, begunAt: at, askedAt: at, isAwaiting: true, hasEnded: false }
  }

  #addFinding(name: string, facts: object): void {
    const turn = this.#turn
    if (turn === undefined) return
    const event = { event: `rollout:${name}`, data: { ...this.#owner, turn_id: turn.id, ...facts } }
    this.#pending.push({ at: this.#now, turn: turn.id, begunAt: turn.begunAt, event })
  }

  #readItem(at: number, payload: unknown): void {
    const type = textOf(peek(payload, 'type')) ?? ''
    if (type.endsWith('_output')) {
      this.#noteModelInput(at)
      this.#addOutput(at, payload)
    } else if (type !== 'message') this.#addAnswerPart(at, type, payload)
    else if (peek(payload, 'role') === 'assistant') this.#addAnswerPart(at, type, payload)
    else this.#noteModelInput(at)
  }

  /** Handles input to the model: it completes the previous answer, even without a token count. */
  #noteModelInput(at: number): void {
    const turn = this.#turn
    if (turn === undefined) return
    if (turn.partAt !== undefined) this.#endAnswer(turn.partAt, undefined)
    turn.askedAt = at
    if (!turn.isAwaiting && turn.lastText !== undefined) this.#continuedAt.set(`${turn.id} ${turn.lastText}`, at)
    turn.isAwaiting = true
  }

  #addAnswerPart(at: number, type: string, payload: unknown): void {
    const turn = this.#turn
    const isCall = CALL_TYPES.has(type)
    if (turn === undefined || !(isCall || type === 'message' || type === 'reasoning' || type.endsWith('_call'))) return
    turn.partAt = at
    const text = type === 'message' ? plainText(peek(payload, 'content')) : undefined
    if (text !== undefined) turn.texts.push(text)
    if (isCall) this.#addCall(turn, at, payload)
  }

  #addCall(turn: RolloutTurn, at: number, payload: unknown): void {
    const call_id = idOf(peek(payload, 'call_id'))
    if (call_id === undefined) return
    const name = `${textOf(peek(payload, 'namespace')) ?? ''}${textOf(peek(payload, 'name')) ?? ''}`
    const args = peek(payload, 'arguments') ?? peek(payload, 'input')
    turn.calls.push({ id: call_id, name, arguments: args })
    this.#calls.set(`${turn.id} ${call_id}`, true)
    this.#addFinding('call', { ...this.#requestFields(turn), call_id, name, arguments: args, at })
  }

  #requestFields(turn: RolloutTurn): { started_at: number; model: unknown; provider: unknown } {
    return { started_at: turn.askedAt, model: turn.model, provider: this.#provider }
  }

  #endAnswer(at: number, payload: unknown): void {
    const turn = this.#turn
    const turnId = idOf(peek(payload, 'turn_id'))
    if (turn === undefined || (turnId !== undefined && turnId !== turn.id)) return
    const { texts, calls } = turn
    const fields = { response_id: peek(payload, 'response_id'), usage: peek(payload, 'usage') }
    const text = texts.length === 0 ? undefined : texts.join('\n')
    this.#addFinding('answer', { ...this.#requestFields(turn), ...fields, text, calls, ended_at: at })
    Object.assign(turn, { texts: [], calls: [], partAt: undefined, lastText: text, isAwaiting: false })
  }

  #addOutput(at: number, payload: unknown): void {
    const call_id = idOf(peek(payload, 'call_id'))
    const output = peek(payload, 'output')
    if (call_id !== undefined) this.#addFinding('output', { call_id, at, output: plainText(output) ?? output })
  }

  /** Handles a tool's status. Messages are items as well and have none. */
  #addItemStatus(at: number, payload: unknown): void {
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
    const started = isStart ? elementsOf(peek(item, 'receiver_agents'), AGENTS_LIMIT) : undefined
    const agents = started?.map(agent => ({ id: peek(agent, 'thread_id'), role: peek(agent, 'agent_role') }))
    for (const { id } of agents ?? []) this.#startedAgents.set(idOf(id) ?? '', true)
    this.#addFinding('item', { call_id, at, status, exit_code: peek(item, 'exit_code'), ran_at, agents })
  }

  #completeTask(at: number, payload: unknown): void {
    const error = peek(payload, 'error')
    if (error === undefined || error === null) {
      this.#endTurn({ at, outcome: 'completed', text: peek(payload, 'last_agent_message') })
      return
    }
    const { type, status } = kindOf(peek(error, 'codex_error_info'))
    const turn = this.#turn
    if (turn?.isAwaiting === true && !NON_REQUEST_ERRORS.has(type))
      this.#addFinding('failure', {
        ...this.#requestFields(turn),
        at,
        error: { type, message: textOf(peek(error, 'message')) },
        status,
      })
    this.#endTurn({ at, outcome: 'failed', reason: type })
  }

  #endTurn(facts: object): void {
    const turn = this.#turn
    if (turn === undefined || turn.hasEnded) return
    if (turn.partAt !== undefined) this.#endAnswer(turn.partAt, undefined)
    turn.hasEnded = true
    this.#addFinding('over', facts)
  }
}

/** Parses an error kind: a string, or an object with one key, whose value may contain the HTTP status. */
function kindOf(info: unknown): { readonly type: string; readonly status: number | undefined } {
  const word = textOf(info)
  const [key] = word === undefined && typeof info === 'object' && info !== null ? Object.keys(info) : []
  const status = key === undefined ? undefined : numberOf(peek(peek(info, key), 'http_status_code'))
  return { type: word ?? key ?? 'other', status }
}
