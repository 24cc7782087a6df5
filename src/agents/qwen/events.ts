import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { NewerFindings } from '../base/findings.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { joinTexts, plainText, wrapJson } from '../base/messages.ts'
import { readUsage } from '../base/usage.ts'
import { ClaudeCodeMachine } from '../claude-code/events.ts'
import type { Dialect } from '../claude-code/session.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'

const LIMIT = 10_000
/** Hooks that Claude Code does not have, and those with a generated `tool_use_id`, different in each hook. */
const QUIET: ReadonlySet<string> = new Set(['SessionDelete', 'TodoCreated', 'TodoCompleted'])
const OF_TOOL: ReadonlySet<string> = new Set(['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])
const FOUND = 'transcript:'
const READ_END = 'transcript:read'
/** Suffix of turns that process results of background agents. Hooks have the prompt's id without it. */
const AUTOMATIC = /\/automatic\/\d+$/
const RUN = ' turn '
const DENIED: ReadonlySet<unknown> = new Set(['execution_denied', 'permission_denied'])

const COUNTS = { input: 'input', output: 'output', cacheRead: 'cached', reasoning: 'thoughts' }
const QWEN: Dialect = { platform: 'qwen-code', usageOf: said => readUsage(said, COUNTS), asksLast: true }

interface QwenPrompt {
  ended: number
  isOver: boolean
  overAt: unknown
  named?: { readonly by: string | undefined; readonly ended: number }
}

/**
 * Converts Qwen Code's hooks to those of Claude Code, and translates them by its machine. Read from 0.24.4 (real runs).
 *
 * Findings in its transcripts have the same shapes (`../claude-code/events.ts`). Differences:
 *
 * - `tool_use_id` is generated for each hook. `tool_call_id` identifies the call, also in `PostToolBatch`, which has the call's
 *   status.
 * - A transcript has a line for each request, with its times and tokens. It includes requests of child agents and of Qwen Code's
 *   internal agents.
 * - The results of background agents are processed in a turn of the same `prompt_id`, which no hook begins.
 */
export class QwenMachine implements HostMachine {
  readonly #claude = new ClaudeCodeMachine(QWEN)
  readonly #calls = new LimitedMap<string, true>(LIMIT)
  /** The calls that start a child agent. Few: an unknown agent is searched for in all of them. */
  readonly #delegations = new LimitedMap<string, true>(LIMIT)
  readonly #agents = new LimitedMap<string, true>(LIMIT)
  readonly #found = new LimitedMap<string, true>(LIMIT)
  readonly #runs = new LimitedMap<string, QwenPrompt>(LIMIT)
  readonly #linkedAgents = new LimitedMap<string, true>(LIMIT)
  /** `waiting`: call ends from a batch, buffered until the transcripts have been read, so that a request precedes its tools. */
  readonly #sessions = new SessionStates(() => ({ waiting: [] as HostEvent[], newer: new NewerFindings() }))

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    if (QUIET.has(event.event)) return []
    const session = this.#sessions.get(idOf(peek(event.data, 'session_id')) ?? '')
    if (isFinding(event)) return session.newer.bufferIfNewer(event) ? [] : this.#handleFinding(event)
    const ends = session.waiting.splice(0)
    if (event.event === READ_END) return this.#translate([...ends, event])
    const hook = this.#numbered(event)
    const link = this.#linkAgent(hook.data)
    if (event.event === 'SubagentStart') this.#agents.set(idOf(peek(event.data, 'agent_id')) ?? '', true)
    const isBatch = event.event === 'PostToolBatch'
    if (isBatch) session.waiting = this.#endHooksOf(hook)
    const own = isBatch ? [] : [OF_TOOL.has(event.event) ? this.#toToolHook(hook) : hook]
    const records = this.#translate([...ends, ...link, ...own])
    const hookAt = event.event === 'SessionEnd' ? Number.POSITIVE_INFINITY : event.at
    return records && [...records, ...this.#drainNewer(session.newer, hookAt)]
  }

  #translate(events: readonly HostEvent[]): readonly HookRecord[] | undefined {
    const records: HookRecord[] = []
    let isKnown = true
    for (const event of events) {
      const translated = this.#claude.accept(event)
      if (translated === undefined) isKnown = false
      else records.push(...translated)
    }
    return isKnown ? records : undefined
  }

  #drainNewer(newer: NewerFindings, hookAt: number | undefined): readonly HookRecord[] {
    return newer.drainUntil(hookAt).flatMap(event => this.#handleFinding(event))
  }

  #handleFinding(event: HostEvent): readonly HookRecord[] {
    if (!this.#isNew(event.data)) return []
    const found = this.#numbered(event)
    return this.#isAttributable(found.data) ? (this.#translate([...this.#linkAgent(found.data), found]) ?? []) : []
  }

  isQuiet(event: string): boolean {
    return QUIET.has(event) || this.#claude.isQuiet?.(event) === true
  }

  end(at: number): readonly HookRecord[] {
    const records = this.#sessions.values().flatMap(({ waiting, newer }) => {
      const ends = this.#translate(waiting.splice(0)) ?? []
      return [...ends, ...this.#drainNewer(newer, Number.POSITIVE_INFINITY)]
    })
    return [...records, ...this.#claude.end(at)]
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
    const run: QwenPrompt = known ?? { ended: 0, isOver: false, overAt: undefined }
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
  #begins(event: string, data: unknown, { overAt }: QwenPrompt): boolean {
    if (event === 'PreToolUse') return !this.#calls.has(callIdOf(data) ?? '')
    return event === 'Stop' && peek(data, 'timestamp') !== overAt && peek(data, 'stop_hook_active') !== true
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
  #isAttributable(data: unknown): boolean {
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId !== undefined) return this.#agents.has(agentId) || this.#callOfAgent(agentId) !== undefined
    const [prompt] = (idOf(peek(data, 'prompt_id')) ?? '').split(RUN)
    return this.#runs.has(prompt ?? '')
  }

  #toToolHook(event: HostEvent): HostEvent {
    const { data } = event
    const id = callIdOf(data)
    if (id === undefined || typeof data !== 'object') return event
    if (event.event === 'PreToolUse') {
      this.#calls.set(id, true)
      if (peek(data, 'tool_name') === 'agent') this.#delegations.set(id, true)
    }
    return { ...event, data: { ...data, tool_use_id: id, tool_response: resultOf(peek(data, 'tool_response')) } }
  }

  /**
   * Converts a batch to the end hooks of its calls. Denied calls, and calls that could not start, fire no other hook. The hook of
   * an end may be lost.
   */
  #endHooksOf(event: HostEvent): HostEvent[] {
    const { data } = event
    if (typeof data !== 'object' || data === null) return []
    return elementsOf(peek(data, 'tool_calls')).flatMap(call => {
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
  #linkAgent(data: unknown): HostEvent[] {
    const agent_id = idOf(peek(data, 'agent_id'))
    if (agent_id === undefined || this.#linkedAgents.has(agent_id)) return []
    const tool_use_id = this.#callOfAgent(agent_id)
    if (tool_use_id === undefined) return []
    this.#linkedAgents.set(agent_id, true)
    return [{ event: 'transcript:agent', data: { session_id: peek(data, 'session_id'), agent_id, tool_use_id } }]
  }

  #callOfAgent(agentId: string): string | undefined {
    return [...this.#delegations.keys()].findLast(id => agentId.endsWith(`-${id}`))
  }
}

function isFinding({ event }: HostEvent): boolean {
  return event.startsWith(FOUND) && event !== READ_END
}

function endOf(status: unknown, errorType: unknown): 'PostToolUse' | 'PostToolUseFailure' | 'PermissionDenied' {
  if (status === 'success') return 'PostToolUse'
  return DENIED.has(errorType) || status === 'cancelled' ? 'PermissionDenied' : 'PostToolUseFailure'
}

/** Returns the text of a result in a batch: `{response_parts: [{functionResponse: {response: {output}}}]}`. */
function outputOf(response: unknown): string | undefined {
  const parts = elementsOf(peek(response, 'response_parts'))
  return joinTexts(parts.map(part => textOf(peek(peek(peek(part, 'functionResponse'), 'response'), 'output'))))
}

function nextIn(run: QwenPrompt): void {
  run.isOver = false
  run.ended += 1
}

/** Returns the number of a turn named in the transcript: the one that a hook has begun, or a new one. */
function numberIn(run: QwenPrompt, named: string | undefined): number {
  if (run.named?.by === named) return run.named?.ended ?? 0
  if (run.isOver && run.ended <= (run.named?.ended ?? 0)) nextIn(run)
  run.named = { by: named, ended: run.ended }
  return run.ended
}

function callIdOf(data: unknown): string | undefined {
  return idOf(peek(data, 'tool_call_id')) ?? idOf(peek(data, 'tool_use_id'))
}

function numbered(event: HostEvent, prompt: string, ended: number): HostEvent {
  if (ended === 0 && peek(event.data, 'prompt_id') === prompt) return event
  const prompt_id = ended === 0 ? prompt : `${prompt}${RUN}${ended + 1}`
  return { ...event, data: { ...(event.data as object), prompt_id } }
}

function resultOf(response: unknown): unknown {
  const text = plainText(peek(response, 'llmContent'))
  if (text === undefined) return response
  if (peek(peek(response, 'returnDisplay'), 'executionMode') === 'background' || text.startsWith('Background agent')) {
    return { status: 'async_launched', content: text }
  }
  return wrapJson(text, { content: text })
}
