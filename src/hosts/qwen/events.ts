import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'
import { type Usage, usageOf } from '../base/usage.ts'
import { createClaudeCodeMachine } from '../claude-code/events.ts'
import type { Dialect } from '../claude-code/session.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'

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
  /** What a batch says of calls is taken when the transcripts have been read: a request is told before its tools. */
  #waiting: HostEvent[] = []

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    if (QUIET.has(event.event)) return []
    if (event.event.startsWith(FOUND) && event.event !== OVER && !this.#isNew(event.data)) return []
    const isFound = event.event.startsWith(FOUND) && event.event !== OVER
    const before = isFound ? [] : this.#waiting.splice(0)
    const words = [...before, ...this.#inClaudesWords({ ...event, data: this.#numbered(event) })]
    const told = words.map(one => this.#claude.accept(one))
    return told.includes(undefined) ? undefined : told.flatMap(records => records ?? [])
  }

  isQuiet(event: string): boolean {
    return QUIET.has(event) || this.#claude.isQuiet?.(event) === true
  }

  end(at: number): readonly HookRecord[] {
    const told = this.#waiting.splice(0).flatMap(one => this.#claude.accept(one) ?? [])
    return [...told, ...this.#claude.end(at)]
  }

  /** A prompt of which a turn is over goes on when a background agent is done: in a turn of its own. */
  #numbered({ event, data }: HostEvent): unknown {
    const said = idOf(peek(data, 'prompt_id'))
    const prompt = said?.replace(AUTOMATIC, '')
    if (prompt === undefined || typeof data !== 'object') return data
    const isOfChild = peek(data, 'agent_id') !== undefined
    const known = this.#runs.get(prompt)
    const run: Run = known ?? { ended: 0, isOver: false, overAt: undefined }
    if (event.startsWith(FOUND)) {
      return known === undefined ? data : numbered(data, prompt, said === prompt ? 0 : numberIn(run, said))
    }
    if (!isOfChild && run.isOver && this.#begins(event, data, run)) nextIn(run)
    if (!isOfChild && (event === 'Stop' || event === 'StopFailure')) {
      run.isOver = true
      run.overAt = peek(data, 'timestamp')
    }
    this.#runs.set(prompt, run)
    return numbered(data, prompt, run.ended)
  }

  /** Not what is told a second time; a prompt is, by two ways, and the second may be late. */
  #begins(event: string, data: unknown, { overAt }: Run): boolean {
    if (event === 'PreToolUse') return !this.#calls.has(callIdOf(data) ?? '')
    return event === 'Stop' && peek(data, 'timestamp') !== overAt && peek(data, 'stop_hook_active') !== true
  }

  #inClaudesWords(event: HostEvent): readonly HostEvent[] {
    if (OF_TOOL.has(event.event)) return [this.#ofTool(event)]
    if (event.event === 'PostToolBatch') {
      this.#waiting = this.#batch(event)
      return []
    }
    if (event.event === 'SubagentStart') return this.#child(event)
    const isFound = event.event.startsWith(FOUND) && event.event !== OVER
    return isFound && !this.#isOfSomebody(event.data) ? [] : [event]
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
    if (agentId !== undefined) return this.#agents.has(agentId)
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

  /** No other hook tells of calls that were refused, nor of those that could not be begun. */
  #batch(event: HostEvent): HostEvent[] {
    const { data } = event
    if (typeof data !== 'object' || data === null) return []
    return elementsOf(peek(data, 'tool_calls'), CALLS_LIMIT).flatMap(call => {
      const response = peek(call, 'tool_response')
      const [tool_use_id, error] = [idOf(peek(call, 'tool_use_id')), textOf(peek(response, 'error'))]
      if (tool_use_id === undefined || peek(call, 'status') === 'success') return []
      const isDenied = DENIED.has(peek(response, 'error_type')) || peek(call, 'status') === 'cancelled'
      const name = isDenied ? 'PermissionDenied' : 'PostToolUseFailure'
      const about = { tool_use_id, tool_name: peek(call, 'tool_name'), tool_input: peek(call, 'tool_input') }
      return [{ ...event, event: name, data: { ...data, ...about, hook_event_name: name, error, reason: error } }]
    })
  }

  /** The id of an agent ends with that of its call. */
  #child(event: HostEvent): HostEvent[] {
    const { data } = event
    const agent_id = idOf(peek(data, 'agent_id'))
    if (agent_id === undefined) return []
    this.#agents.set(agent_id, true)
    const calls = [...this.#calls].filter(([id, delegates]) => delegates && agent_id.endsWith(`-${id}`))
    const joins = calls
      .slice(-1)
      .map(([tool_use_id]) => ({ session_id: peek(data, 'session_id'), agent_id, tool_use_id }))
    return [...joins.map(join => ({ event: 'transcript:agent', at: event.at ?? 0, data: join })), event]
  }
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

function numbered(data: object | null, prompt: string, ended: number): unknown {
  return { ...data, prompt_id: ended === 0 ? prompt : `${prompt}${RUN}${ended + 1}` }
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
