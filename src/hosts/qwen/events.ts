import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { joined, looksLikeJson, plainText } from '../base/messages.ts'
import { NewerFindings } from '../base/newer-findings.ts'
import { type Usage, usageOf } from '../base/usage.ts'
import { createClaudeCodeMachine } from '../claude-code/events.ts'
import type { Dialect } from '../claude-code/session.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'

const LIMIT = 10_000
const CALLS_LIMIT = 1000
/** Hooks that Claude Code does not have. */
const QUIET: ReadonlySet<string> = new Set(['SessionDelete', 'TodoCreated', 'TodoCompleted'])
/** Hooks with a `tool_use_id` of their own each. */
const OF_TOOL: ReadonlySet<string> = new Set(['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])
const FOUND = 'transcript:'
const OVER = 'transcript:read'
/** What is done with the results of background agents: hooks give the prompt's own id. */
const AUTOMATIC = /\/automatic\/\d+$/
/** Between the id of a prompt and the number of its turn. */
const RUN = ' turn '
const DENIED: ReadonlySet<unknown> = new Set(['execution_denied', 'permission_denied'])

const QWEN: Dialect = { platform: 'qwen-code', provider: undefined, usageOf: tokensOf, asksLast: true }

function tokensOf(said: unknown): Usage | undefined {
  return usageOf({
    input: peek(said, 'input'),
    output: peek(said, 'output'),
    cacheRead: peek(said, 'cached'),
    reasoning: peek(said, 'thoughts'),
  })
}

/** The turns of a prompt. */
interface Run {
  ended: number
  isOver: boolean
  /** As the hook says that ended the last one. */
  overAt: unknown
  /** The last of those that the transcript names. */
  named?: { readonly by: string | undefined; readonly ended: number }
}

interface QwenSession {
  /** What a batch says of calls is taken when the transcripts have been read: a request is told before its tools. */
  waiting: HostEvent[]
  readonly newer: NewerFindings
  /** Of the last hook: what is found is not to be newer. */
  hookAt: number
}

/** What the hooks of Qwen Code mean, in the words of Claude Code. */
class QwenMachine implements HostMachine {
  readonly #claude = createClaudeCodeMachine(QWEN)
  /** By call: whether it delegates. */
  readonly #calls = new LimitedMap<string, boolean>(LIMIT)
  /** Agents that were started by somebody: others work for Qwen Code itself. */
  readonly #agents = new LimitedMap<string, true>(LIMIT)
  /** Requests that were told. */
  readonly #found = new LimitedMap<string, true>(LIMIT)
  /** By prompt: how often a turn of it has ended, and whether one is over. */
  readonly #runs = new LimitedMap<string, Run>(LIMIT)
  /** Of these the call is known. */
  readonly #joined = new LimitedMap<string, true>(LIMIT)
  readonly #sessions = new SessionStates<QwenSession>(() => ({
    waiting: [],
    newer: new NewerFindings(),
    hookAt: Number.POSITIVE_INFINITY,
  }))

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    if (QUIET.has(event.event)) return []
    const session = this.#sessions.get(idOf(peek(event.data, 'session_id')) ?? '')
    if (isFinding(event)) return session.newer.keep(event, session.hookAt) ? [] : this.#find(event)
    if (event.event === OVER) return this.#tell([...session.waiting.splice(0), event])
    session.hookAt = event.event === 'SessionEnd' ? Number.POSITIVE_INFINITY : (event.at ?? session.hookAt)
    const told = this.#tell([...session.waiting.splice(0), ...this.#inClaudesWords(this.#numbered(event), session)])
    return told && [...told, ...this.#findAgain(session)]
  }

  #tell(events: readonly HostEvent[]): readonly HookRecord[] | undefined {
    const told = events.map(one => this.#claude.accept(one))
    return told.includes(undefined) ? undefined : told.flatMap(records => records ?? [])
  }

  /** What was found before, and is not newer than the hook at hand. */
  #findAgain({ newer, hookAt }: QwenSession): readonly HookRecord[] {
    return newer.takeUntil(hookAt).flatMap(event => this.#find(event))
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

  /** A prompt of which a turn is over goes on when a background agent is done: in a turn of its own. */
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

  /** Not what is told a second time; a prompt is, by two ways, and the second may be late. */
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

  /** What is read again belongs to a turn that is over. */
  #isNew(data: unknown): boolean {
    const id = idOf(peek(data, 'message_id')) ?? idOf(peek(data, 'line_id'))
    if (id === undefined || this.#found.has(id)) return false
    this.#found.set(id, true)
    return true
  }

  /** Qwen Code asks the model things for itself, too, in its own name or in that of an agent. */
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

  /** Of calls that were refused or that could not begin no other hook is fired, and the hook of an end may be lost. */
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

  /** The call of a child, with its first hook or request: its start may be lost. */
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

/** The hook that a call in a batch should have had. */
function endOf(status: unknown, errorType: unknown): 'PostToolUse' | 'PostToolUseFailure' | 'PermissionDenied' {
  if (status === 'success') return 'PostToolUse'
  return DENIED.has(errorType) || status === 'cancelled' ? 'PermissionDenied' : 'PostToolUseFailure'
}

/** The text of a result as a batch has it: `{response_parts: [{functionResponse: {response: {output}}}]}`. */
function outputOf(response: unknown): string | undefined {
  const parts = elementsOf(peek(response, 'response_parts'), CALLS_LIMIT)
  return joined(parts.map(part => textOf(peek(peek(peek(part, 'functionResponse'), 'response'), 'output'))))
}

function nextIn(run: Run): void {
  run.isOver = false
  run.ended += 1
}

/** Of a turn that the transcript names: the one that a hook has begun, or that begins with this. */
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

/** Qwen Code, version 0.24.4 (`@qwen-code/qwen-code`). */
export function createQwenMachine(): HostMachine {
  return new QwenMachine()
}
