import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, openAgentFile } from '../base/agent-file.ts'
import { timestampOf } from '../base/event-machine.ts'
import { FileAdapter, type Findings, ownEnvironment, pollUntil, type ReadTrigger } from '../base/file-adapter.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { ReceiverAdapter } from '../receiver-adapter.ts'
import { READS_FIRST } from './events.ts'

/** A rollout lags behind the hooks by some milliseconds. The end of a turn is written after its hooks. */
const PATIENCE_MILLIS = 500
const ROLLOUT = /(?:^|[/\\])rollout-[^/\\]+\.jsonl$/
const ENDS: ReadonlySet<string> = new Set(['Stop', 'SubagentStop', 'Interrupt', 'SessionEnd'])

export class CodexAdapter extends FileAdapter {
  protected readonly prefix = 'rollout:'
  protected readonly readsFirst: ReadonlySet<string> = READS_FIRST
  readonly #rollouts = new LimitedMap<string, Rollout>(200)

  protected async read(trigger: ReadTrigger): Promise<Findings | undefined> {
    const { event, at, data, owner } = trigger
    if (event === 'SubagentStart') return { found: await this.#readParents(trigger) }
    // The end of a child names both files.
    const path = textOf(peek(data, 'agent_transcript_path')) ?? trigger.path
    if (path === undefined || !ROLLOUT.test(path)) return undefined
    const rollout = this.#rollouts.recall(path, () => new Rollout(path, owner))
    await this.#readUntilEnough([rollout], trigger)
    const goesOn = rollout.hasContinued(trigger)
    const found = rollout.drainFindings(at, found => ENDS.has(event) && !goesOn && isEndOf(found, trigger))
    return { found, goes_on: goesOn || undefined, repository: rollout.repository, branch: rollout.branch }
  }

  /** Reads the parents' rollouts: only they record which call started the child. */
  async #readParents(trigger: ReadTrigger): Promise<readonly HostEvent[]> {
    const { session_id } = trigger.owner
    const parents = [...this.#rollouts.values()].filter(({ owner }) => owner.session_id === session_id)
    await this.#readUntilEnough(parents, trigger)
    return parents.flatMap(rollout => rollout.drainFindings(trigger.at, found => isStartOf(found, trigger)))
  }

  async #readUntilEnough(rollouts: readonly Rollout[], trigger: ReadTrigger): Promise<void> {
    const { place } = this.environment
    const look = async (): Promise<boolean> => {
      const areThere = await Promise.all(rollouts.map(rollout => rollout.read(place).catch(() => false)))
      return !areThere.includes(true) || rollouts.some(rollout => rollout.isEnough(trigger))
    }
    await pollUntil(look, () => PATIENCE_MILLIS, this.environment)
  }
}

function turnOf(data: unknown): string | undefined {
  return idOf(peek(data, 'turn_id'))
}

function isEndOf({ turn, begunAt, event }: PendingFinding, { data, at }: ReadTrigger): boolean {
  const turnId = turnOf(data)
  return event.event === 'rollout:over' && (turnId === undefined ? begunAt <= at : turn === turnId)
}

function isStartOf({ event }: PendingFinding, { owner }: ReadTrigger): boolean {
  const agents = elementsOf(peek(event.data, 'agents'), Infinity)
  return event.event === 'rollout:item' && agents.some(agent => peek(agent, 'id') === owner.agent_id)
}

export const codex: ReceiverAdapter = new CodexAdapter(ownEnvironment(['CODEX_HOME'], '.codex'))

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

type LineHandlers = ReadonlyMap<string, (payload: unknown, at: number) => void>

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
export class Rollout {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly owner: FindingOwner
  #pending: PendingFinding[] = []
  #hasDrained = false
  #turn: RolloutTurn | undefined
  #provider: unknown
  repository: string | undefined
  branch: string | undefined
  #now = 0
  /** Calls as `<turn> <call>`. */
  readonly #calls = new LimitedMap<string, true>(1000)
  readonly #startedAgents = new LimitedMap<string, true>(1000)
  readonly #continuedAt = new LimitedMap<string, number>(1000)

  constructor(path: string, owner: FindingOwner) {
    this.#path = path
    this.owner = owner
  }

  read(place: AgentFolders): Promise<boolean> {
    const restart = (): void => {
      this.#pending = []
      this.#turn = undefined
    }
    return this.#reader.readFrom(openAgentFile(this.#path, place, 'sessions'), line => this.readLine(line), restart)
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

  isEnough(trigger: ReadTrigger): boolean {
    const { event, data, owner } = trigger
    if (event === 'SubagentStart') return owner.agent_id === undefined || this.#startedAgents.has(owner.agent_id)
    if (event === 'PreToolUse') return this.#calls.has(`${turnOf(data)} ${idOf(peek(data, 'tool_use_id'))}`)
    if (!ENDS.has(event) || this.#turn?.hasEnded !== false) return true
    const turnId = turnOf(data) ?? this.#turn.id
    return turnId !== this.#turn.id || this.hasContinued(trigger)
  }

  hasContinued({ event, at, data }: ReadTrigger): boolean {
    if (event !== 'Stop' && event !== 'SubagentStop') return false
    const answer = textOf(peek(data, 'last_assistant_message'))
    return answer !== undefined && (this.#continuedAt.get(`${turnOf(data)} ${answer}`) ?? 0) > at
  }

  readLine(text: string): void {
    const line = jsonIn(text)
    const at = timestampOf(line)
    if (at === undefined) return
    this.#now = at
    this.#lines.get(textOf(peek(line, 'type')) ?? '')?.(peek(line, 'payload'), at)
  }

  readonly #events: LineHandlers = new Map([
    ['task_started', (payload, at) => this.#startTurn(at, idOf(peek(payload, 'turn_id')))],
    ['item_completed', (payload, at) => this.#addItemStatus(at, payload)],
    ['task_complete', (payload, at) => this.#completeTask(at, payload)],
    ['turn_aborted', (payload, at) => this.#endTurn({ at, outcome: 'interrupted', reason: peek(payload, 'reason') })],
  ])

  readonly #lines: LineHandlers = new Map([
    ['session_meta', payload => this.#noteSession(payload)],
    ['turn_context', payload => Object.assign(this.#turn ?? {}, { model: peek(payload, 'model') })],
    ['event_msg', (payload, at) => this.#events.get(textOf(peek(payload, 'type')) ?? '')?.(payload, at)],
    ['response_item', (payload, at) => this.#readItem(at, payload)],
    ['compacted', (_, at) => this.#noteModelInput(at)],
    ['token_usage_record', (payload, at) => this.#endAnswer(at, payload)],
  ])

  #noteSession(payload: unknown): void {
    this.#provider = peek(payload, 'model_provider')
    this.repository = textOf(peek(peek(payload, 'git'), 'repository_url'))
    this.branch = textOf(peek(peek(payload, 'git'), 'branch'))
  }

  #startTurn(at: number, id: string | undefined): void {
    if (id === undefined) return
    const nothing = { model: undefined, texts: [], calls: [], partAt: undefined, lastText: undefined }
    this.#turn = { ...nothing, id, begunAt: at, askedAt: at, isAwaiting: true, hasEnded: false }
  }

  #addFinding(name: string, facts: object): void {
    const turn = this.#turn
    if (turn === undefined) return
    const event = { event: `rollout:${name}`, data: { ...this.owner, turn_id: turn.id, ...facts } }
    this.#pending.push({ at: this.#now, turn: turn.id, begunAt: turn.begunAt, event })
  }

  #readItem(at: number, payload: unknown): void {
    const type = textOf(peek(payload, 'type')) ?? ''
    if (type.endsWith('_output')) {
      const [call_id, output] = [idOf(peek(payload, 'call_id')), peek(payload, 'output')]
      this.#noteModelInput(at)
      if (call_id !== undefined) this.#addFinding('output', { call_id, at, output: plainText(output) ?? output })
    } else if (type !== 'message' || peek(payload, 'role') === 'assistant') this.#addAnswerPart(at, type, payload)
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

  #requestFields({ askedAt, model }: RolloutTurn): object {
    return { started_at: askedAt, model, provider: this.#provider }
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

  /** Handles a tool's status. Messages are items as well and have none. */
  #addItemStatus(at: number, payload: unknown): void {
    const item = peek(payload, 'item')
    const call_id = idOf(peek(item, 'id'))
    const status = peek(item, 'status')
    if (call_id === undefined || status === undefined) return
    const duration = peek(item, 'duration')
    const seconds = numberOf(peek(duration, 'secs')) ?? 0
    const millis = seconds * 1000 + (numberOf(peek(duration, 'nanos')) ?? 0) / 1_000_000
    const end = numberOf(peek(payload, 'completed_at_ms'))
    const ran_at = duration === undefined || end === undefined ? undefined : end - millis
    // Other tools list agents that were started by an earlier call.
    const started = peek(item, 'tool') === 'spawn_agent' ? elementsOf(peek(item, 'receiver_agents')) : undefined
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
    if (turn?.isAwaiting === true && !NON_REQUEST_ERRORS.has(type)) {
      const facts = { error: { type, message: textOf(peek(error, 'message')) }, status }
      this.#addFinding('failure', { ...this.#requestFields(turn), at, ...facts })
    }
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
