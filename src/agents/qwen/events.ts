import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { joinTexts, looksLikeJson, plainText } from '../base/messages.ts'
import { NewerFindings } from '../base/newer-findings.ts'
import { type TokenUsage, usageOf } from '../base/usage.ts'
import { createClaudeCodeMachine } from '../claude-code/events.ts'
import type { Dialect } from '../claude-code/session.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'

const LIMIT = 10_000
const CALLS_LIMIT = 1000
/** Hooks that Claude Code does not have. */
const QUIET: ReadonlySet<string> = new Set(['SessionDelete', 'TodoCreated', 'TodoCompleted'])
/** Hooks with a generated `tool_use_id`, different in each hook. */
const OF_TOOL: ReadonlySet<string> = new Set(['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])
const FOUND = 'transcript:'
const OVER = 'transcript:read'
/** Suffix of turns that process results of background agents. Hooks have the prompt's id without it. */
const AUTOMATIC = /\/automatic\/\d+$/
/** Separates a prompt id from the number of its turn. */
const RUN = ' turn '
const DENIED: ReadonlySet<unknown> = new Set(['execution_denied', 'permission_denied'])

const QWEN: Dialect = { platform: 'qwen-code', provider: undefined, usageOf: tokensOf, asksLast: true }

function tokensOf(said: unknown): TokenUsage | undefined {
  return usageOf({
    input: peek(said, 'input'),
    output: peek(said, 'output'),
    cacheRead: peek(said, 'cached'),
    reasoning: peek(said, 'thoughts'),
  })
}

interface Run {
  ended: number
  isOver: boolean
  /** Timestamp of the hook that ended the last turn. */
  overAt: unknown
  /** The latest turn named in the transcript. */
  named?: { readonly by: string | undefined; readonly ended: number }
}

interface QwenSession {
  /** Call ends from a batch, buffered until the transcripts have been read, so that a request precedes its tools. */
  waiting: HostEvent[]
  readonly newer: NewerFindings
  /** Time of the last hook; newer findings are buffered. */
  hookAt: number
}

/** Converts Qwen Code's hooks to those of Claude Code, and translates them by its machine. */
class QwenMachine implements HostMachine {
  readonly #claude = createClaudeCodeMachine(QWEN)
  /** True for calls that delegate, by call id. */
  readonly #calls = new LimitedMap<string, boolean>(LIMIT)
  /** Started child agents. Others work for Qwen Code internally. */
  readonly #agents = new LimitedMap<string, true>(LIMIT)
  /** Ids of emitted requests. */
  readonly #found = new LimitedMap<string, true>(LIMIT)
  readonly #runs = new LimitedMap<string, Run>(LIMIT)
  /** Agents whose call has been emitted. */
  readonly #joined = new LimitedMap<string, true>(LIMIT)
  readonly #sessions = new SessionStates<QwenSession>(() => ({
    waiting: [],
    newer: new NewerFindings(),
    hookAt: Number.POSITIVE_INFINITY,
  }))

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    if (QUIET.has(event.event)) return []
    const session = this.#sessions.get(idOf(peek(event.data, 'session_id')) ?? '')
    if (isFinding(event)) return session.newer.bufferIfNewer(event, session.hookAt) ? [] : this.#find(event)
    if (event.event === OVER) return this.#tell([...session.waiting.splice(0), event])
    session.hookAt = event.event === 'SessionEnd' ? Number.POSITIVE_INFINITY : (event.at ?? session.hookAt)
    const told = this.#tell([...session.waiting.splice(0), ...this.#inClaudesWords(this.#numbered(event), session)])
    return told && [...told, ...this.#findAgain(session)]
  }

  #tell(events: readonly HostEvent[]): readonly HookRecord[] | undefined {
    const told = events.map(one => this.#claude.accept(one))
    return told.includes(undefined) ? undefined : told.flatMap(records => records ?? [])
  }

  /** Processes earlier findings that are not newer than the current hook. */
  #findAgain({ newer, hookAt }: QwenSession): readonly HookRecord[] {
    return newer.drainUntil(hookAt).flatMap(event => this.#find(event))
  }

  #find(event: HostEvent): readonly HookRecord[] {
    if (!this.#isNew(event.data)) return []
    const found = this.#numbered(event)
    return this.#isOfSomebody(found.data) ? (this.#tell([...this.#join(found.data), found]) ?? []) : []
  }

  isQuiet(event: string): boolean {
    return QUIET.has(event) || this.#claude.isQuiet?.(event) === true
  }

  end(at: number): readonly HookRecord[] {
    const told = this.#sessions.values().flatMap(session => {
      session.hookAt = Number.POSITIVE_INFINITY
      return [...(this.#tell(session.waiting.splice(0)) ?? []), ...this.#findAgain(session)]
    })
    return [...told, ...this.#claude.end(at)]
  }

  /**
   * Adds a turn number to the prompt id. After the end of its turn, a prompt continues in a new turn when a background agent is
   * done.
   */
  #numbered(event: HostEvent): HostEvent {
    const { data } = event
    const said = idOf(peek(data, 'prompt_id'))
    const prompt = said?.replace(AUTOMATIC, '')
    if (prompt === undefined || typeof data !== 'object') return event
    const isOfChild = peek(data, 'agent_id') !== undefined
    const known = this.#runs.get(prompt)
    const run: Run = known ?? { ended: 0, isOver: false, overAt: undefined }
    if (isFinding(event)) {
      return known === undefined ? event : numbered(event, prompt, said === prompt ? 0 : numberIn(run, said))
    }
    if (!isOfChild && run.isOver && this.#begins(event.event, data, run)) nextIn(run)
    if (!isOfChild && (event.event === 'Stop' || event.event === 'StopFailure')) {
      run.isOver = true
      run.overAt = peek(data, 'timestamp')
    }
    this.#runs.set(prompt, run)
    return numbered(event, prompt, run.ended)
  }

  /**
   * Returns true if the event begins a further turn. Repeated deliveries do not. `UserPromptSubmit` does not either: it arrives
   * by two ways, the second possibly late.
   */
  #begins(event: string, data: unknown, { overAt }: Run): boolean {
    if (event === 'PreToolUse') return !this.#calls.has(callIdOf(data) ?? '')
    return event === 'Stop' && peek(data, 'timestamp') !== overAt && peek(data, 'stop_hook_active') !== true
  }

  #inClaudesWords(event: HostEvent, session: QwenSession): readonly HostEvent[] {
    const join = this.#join(event.data)
    if (event.event === 'SubagentStart') this.#agents.set(idOf(peek(event.data, 'agent_id')) ?? '', true)
    if (event.event === 'PostToolBatch') session.waiting = this.#batch(event)
    return event.event === 'PostToolBatch' ? join : [...join, OF_TOOL.has(event.event) ? this.#ofTool(event) : event]
  }

  /** Returns false for a finding that is read again: its turn has ended. */
  #isNew(data: unknown): boolean {
    const id = idOf(peek(data, 'message_id')) ?? idOf(peek(data, 'line_id'))
    if (id === undefined || this.#found.has(id)) return false
    this.#found.set(id, true)
    return true
  }

  /**
   * Returns true if a finding belongs to a prompt or to a started agent. Qwen Code makes internal requests, too, in its own name
   * or in that of an agent.
   */
  #isOfSomebody(data: unknown): boolean {
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId !== undefined) return this.#agents.has(agentId) || this.#callOf(agentId) !== undefined
    const [prompt] = (idOf(peek(data, 'prompt_id')) ?? '').split(RUN)
    return this.#runs.has(prompt ?? '')
  }

  #ofTool(event: HostEvent): HostEvent {
    const { data } = event
    const id = callIdOf(data)
    if (id === undefined || typeof data !== 'object') return event
    if (event.event === 'PreToolUse') this.#calls.set(id, peek(data, 'tool_name') === 'agent')
    return { ...event, data: { ...data, tool_use_id: id, tool_response: resultOf(peek(data, 'tool_response')) } }
  }

  /**
   * Converts a batch to the end hooks of its calls. Denied calls, and calls that could not start, fire no other hook. The hook of
   * an end may be lost.
   */
  #batch(event: HostEvent): HostEvent[] {
    const { data } = event
    if (typeof data !== 'object' || data === null) return []
    return elementsOf(peek(data, 'tool_calls'), CALLS_LIMIT).flatMap(call => {
      const response = peek(call, 'tool_response')
      const [tool_use_id, error] = [idOf(peek(call, 'tool_use_id')), textOf(peek(response, 'error'))]
      if (tool_use_id === undefined) return []
      const name = endOf(peek(call, 'status'), peek(response, 'error_type'))
      const about = { tool_use_id, tool_name: peek(call, 'tool_name'), tool_input: peek(call, 'tool_input') }
      const tool_response = name === 'PostToolUse' ? resultOf({ llmContent: outputOf(response) }) : undefined
      const end = { hook_event_name: name, error, reason: error, tool_response }
      return [{ ...event, event: name, data: { ...data, ...about, ...end } }]
    })
  }

  /** Emits the call of a child with its first hook or request, because its start hook may be lost. */
  #join(data: unknown): HostEvent[] {
    const agent_id = idOf(peek(data, 'agent_id'))
    if (agent_id === undefined || this.#joined.has(agent_id)) return []
    const tool_use_id = this.#callOf(agent_id)
    if (tool_use_id === undefined) return []
    this.#joined.set(agent_id, true)
    return [{ event: 'transcript:agent', data: { session_id: peek(data, 'session_id'), agent_id, tool_use_id } }]
  }

  /** The id of an agent ends with that of its call. */
  #callOf(agentId: string): string | undefined {
    const calls = [...this.#calls].filter(([id, delegates]) => delegates && agentId.endsWith(`-${id}`))
    return calls.at(-1)?.[0]
  }
}

function isFinding({ event }: HostEvent): boolean {
  return event.startsWith(FOUND) && event !== OVER
}

/** Returns the end hook that corresponds to a call in a batch. */
function endOf(status: unknown, errorType: unknown): 'PostToolUse' | 'PostToolUseFailure' | 'PermissionDenied' {
  if (status === 'success') return 'PostToolUse'
  return DENIED.has(errorType) || status === 'cancelled' ? 'PermissionDenied' : 'PostToolUseFailure'
}

/** Returns the text of a result in a batch: `{response_parts: [{functionResponse: {response: {output}}}]}`. */
function outputOf(response: unknown): string | undefined {
  const parts = elementsOf(peek(response, 'response_parts'), CALLS_LIMIT)
  return joinTexts(parts.map(part => textOf(peek(peek(peek(part, 'functionResponse'), 'response'), 'output'))))
}

function nextIn(run: Run): void {
  run.isOver = false
  run.ended += 1
}

/** Returns the number of a turn named in the transcript: the one that a hook has begun, or a new one. */
function numberIn(run: Run, named: string | undefined): number {
  if (run.named?.by === named) return run.named?.ended ?? 0
  const isUnnamed = run.ended > (run.named?.ended ?? 0)
  if (!isUnnamed && run.isOver) nextIn(run)
  run.named = { by: named, ended: run.ended }
  return run.ended
}

function callIdOf(data: unknown): string | undefined {
  return idOf(peek(data, 'tool_call_id')) ?? idOf(peek(data, 'tool_use_id'))
}

function numbered(event: HostEvent, prompt: string, ended: number): HostEvent {
  const prompt_id = ended === 0 ? prompt : `${prompt}${RUN}${ended + 1}`
  return { ...event, data: { ...(event.data as object), prompt_id } }
}

function resultOf(response: unknown): unknown {
  const text = plainText(peek(response, 'llmContent'))
  if (text === undefined) return response
  if (peek(peek(response, 'returnDisplay'), 'executionMode') === 'background' || text.startsWith('Background agent')) {
    return { status: 'async_launched', content: text }
  }
  return looksLikeJson(text) ? { content: text } : text
}

/** Translates Qwen Code, version 0.24.4 (`@qwen-code/qwen-code`). */
export function createQwenMachine(): HostMachine {
  return new QwenMachine()
}
