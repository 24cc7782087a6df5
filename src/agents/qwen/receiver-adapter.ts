import { basename, dirname, join } from 'node:path'
import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { AppendedLineReader, ID_IN_PATH, openAgentFile } from '../base/agent-file.ts'
import { timestampOf } from '../base/event-machine.ts'
import { FileAdapter, type Findings, ownEnvironment, pollUntil, type ReadTrigger } from '../base/file-adapter.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { READS_FIRST, type TranscriptOwner, type TranscriptResponse } from '../claude-code/events.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'

const ENDS: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])
/** Transcripts lag behind the hooks, usually by some hundredths of a second, on a busy machine by seconds. */
const PATIENCE_MILLIS = 3000
const LESS_PATIENCE_MILLIS = 100
const PART = 'projects'
const ENDING = '.jsonl'

export class QwenAdapter extends FileAdapter {
  protected readonly prefix = 'transcript:'
  protected readonly readsFirst: ReadonlySet<string> = READS_FIRST
  readonly #transcripts = new LimitedMap<string, QwenTranscript>(200)
  readonly #readers = new LimitedMap<string, AppendedLineReader>(500)
  readonly #hooks = new QwenReceivedHooks()

  override events(delivery: HookDelivery): readonly HostEvent[] {
    const events = super.events(delivery)
    for (const { event, data } of events) this.#hooks.noteHook(event, data)
    return events
  }

  get lostHooks(): number {
    return this.#hooks.lost
  }

  protected async read({ event, data, path, owner }: ReadTrigger): Promise<Findings | undefined> {
    if (path === undefined) return undefined
    const { session_id, agent_id } = owner
    const lines = this.#transcripts.recall(path, () => new QwenTranscript(session_id))
    const look = async (): Promise<boolean> => {
      await this.#readFile(path, lines)
      if (agent_id !== undefined) await this.#readFile(agentFile(path, agent_id), lines)
      return this.#isEnough(lines, event, data)
    }
    const vainWaits = lines.vainWaits.get(event) ?? 0
    const patience = vainWaits < 3 ? PATIENCE_MILLIS : LESS_PATIENCE_MILLIS
    const isEnough = await pollUntil(look, () => patience, this.environment)
    lines.vainWaits.set(event, isEnough ? 0 : vainWaits + 1)
    if (event === 'Stop' || event === 'SubagentStop') lines.lastTexts.delete(agent_id ?? MAIN)
    return { found: lines.drain() }
  }

  #isEnough(lines: QwenTranscript, event: string, data: unknown): boolean {
    const agentId = idOf(peek(data, 'agent_id'))
    if (event === 'PreToolUse' || event === 'PostToolBatch') {
      const call = event === 'PreToolUse' ? data : elementsOf(peek(data, 'tool_calls'), 1)[0]
      return lines.hasAnswerOf(idOf(peek(call, 'tool_call_id')) ?? '', agentId)
    }
    if (event !== 'Stop' && event !== 'SubagentStop') return true
    const said = textOf(peek(data, 'last_assistant_message'))?.trim()
    return said === undefined || lines.lastTexts.get(agentId ?? MAIN)?.trim() === said
  }

  async #readFile(path: string | undefined, lines: QwenTranscript): Promise<void> {
    if (path === undefined) return
    const reader = this.#readers.recall(path, () => new AppendedLineReader())
    // A file that is read again yields its lines again; the machine recognises them by their ids.
    await reader.readFrom(openAgentFile(path, this.environment.place, PART), line => lines.addLine(line))
  }
}

/** Tracks received hooks of tool calls, and counts those that must have fired and never arrived. */
class QwenReceivedHooks {
  readonly #calls = new LimitedMap<string, boolean>(10_000)
  readonly #agents = new LimitedMap<string, true>(10_000)
  lost = 0

  noteHook(event: string, data: unknown): void {
    const callId = idOf(peek(data, 'tool_call_id'))
    const agentId = idOf(peek(data, 'agent_id'))
    if (event === 'PreToolUse' && callId !== undefined && !this.#calls.has(callId)) this.#calls.set(callId, false)
    if (ENDS.has(event) && callId !== undefined && this.#calls.has(callId)) this.#calls.set(callId, true)
    if (event === 'PostToolBatch') this.#endBatch(data)
    if (agentId !== undefined) this.#noteAgent(event, agentId)
  }

  /** Counts missing end hooks: a tool that succeeded has fired one. */
  #endBatch(data: unknown): void {
    for (const call of elementsOf(peek(data, 'tool_calls'))) {
      const id = idOf(peek(call, 'tool_call_id'))
      if (id === undefined || peek(call, 'status') !== 'success' || this.#calls.get(id) !== false) continue
      this.#calls.set(id, true)
      this.lost += 1
    }
  }

  /** Counts missing start hooks of child agents. An agent's id ends with that of its call. */
  #noteAgent(event: string, agentId: string): void {
    if (this.#agents.has(agentId)) return
    this.#agents.set(agentId, true)
    if (event === 'SubagentStart') return
    if ([...this.#calls.keys()].some(callId => agentId.endsWith(`-${callId}`))) this.lost += 1
  }
}

/** The session's file is `<project>/chats/<session>.jsonl`, a child's `<project>/subagents/<session>/agent-<id>.jsonl`. */
function agentFile(transcript: string, agentId: string): string | undefined {
  const session = basename(transcript, ENDING)
  if (!ID_IN_PATH.test(agentId) || !ID_IN_PATH.test(session)) return undefined
  return join(dirname(dirname(transcript)), 'subagents', session, `agent-${agentId}${ENDING}`)
}

export const qwen: ReceiverAdapter = new QwenAdapter(ownEnvironment(['QWEN_HOME', 'QWEN_RUNTIME_DIR'], '.qwen'))

const MAIN = ''
/** Prefilter: most lines are of other types, and some are long. */
const RELEVANT = ['"subtype":"ui_telemetry"', '"type":"assistant"']

/**
 * Extracts requests from the transcripts of a session. The session's file has a line for each request, including those of child
 * agents. The content of an answer follows in later lines, for a child agent in the agent's own file.
 */
class QwenTranscript {
  readonly #sessionId: string
  readonly #answers = new Map<string, TranscriptResponse & { readonly provider: unknown }>()
  /** The last answers by agent. Each applies to one end only. */
  readonly lastTexts: Map<string, string> = new Map()
  /** How often in a row the awaited lines did not appear, by hook. */
  readonly vainWaits: Map<string, number> = new Map()
  /** Answers found in an agent's own file minus those in the session's file, by agent. */
  readonly #missing = new Map<string, number>()
  readonly #calls = new Set<string>()
  readonly #findings: HostEvent[] = []

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Returns true if the answer that requested this tool has been read, including its line in the file with times and tokens. */
  hasAnswerOf(callId: string, agentId: string | undefined): boolean {
    return this.#calls.has(callId) && (agentId === undefined || (this.#missing.get(agentId) ?? 0) <= 0)
  }

  addLine(text: string): void {
    if (!RELEVANT.some(type => text.includes(type))) return
    const line = jsonIn(text)
    const at = timestampOf(line)
    if (at === undefined) return
    if (peek(line, 'type') === 'assistant') this.#addContent(line)
    else this.#handleTelemetry(line, peek(peek(line, 'systemPayload'), 'uiEvent'), at)
  }

  /** Returns the findings since the last call. Open answers are treated as complete. */
  drain(): readonly HostEvent[] {
    for (const agent of [...this.#answers.keys()]) this.#emitAnswer(agent)
    return this.#findings.splice(0).sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
  }

  #handleTelemetry(line: unknown, event: unknown, at: number): void {
    const name = peek(event, 'event.name')
    const agent_id = idOf(peek(event, 'subagent_id'))
    const owner = { session_id: this.#sessionId, agent_id, prompt_id: idOf(peek(event, 'prompt_id')) }
    if (name === 'qwen-code.api_response') this.#handleResponse(event, owner, at)
    else if (name === 'qwen-code.api_error') this.#handleFailure(line, event, owner, at)
  }

  #handleResponse(event: unknown, owner: TranscriptOwner, at: number): void {
    const agent = owner.agent_id ?? MAIN
    this.#emitAnswer(agent)
    this.#count(agent, -1)
    const text = textOf(peek(event, 'response_text'))
    if (text === undefined) this.lastTexts.delete(agent)
    else this.lastTexts.set(agent, text)
    const usage = {
      input: peek(event, 'input_token_count'),
      output: peek(event, 'output_token_count'),
      cached: peek(event, 'cached_content_token_count'),
      thoughts: peek(event, 'thoughts_token_count'),
    }
    this.#answers.set(agent, {
      ...owner,
      message_id: idOf(peek(event, 'response_id')) ?? `${agent}:${at}`,
      model: peek(event, 'model'),
      provider: peek(event, 'auth_type'),
      usage,
      started_at: startOf(event, at),
      ended_at: at,
      content: [],
    })
  }

  #addContent(line: unknown): void {
    const agent = idOf(peek(line, 'agentId')) ?? MAIN
    const answer = this.#answers.get(agent)
    // Only one of the lines of an answer has token counts.
    if (peek(line, 'usageMetadata') !== undefined) this.#count(agent, 1)
    for (const part of elementsOf(peek(peek(line, 'message'), 'parts'))) {
      const call = peek(part, 'functionCall')
      const text = peek(part, 'thought') === true ? undefined : textOf(peek(part, 'text'))
      const id = idOf(peek(call, 'id'))
      if (id !== undefined) {
        this.#calls.add(id)
        answer?.content.push({ type: 'tool_use', id, name: peek(call, 'name'), input: peek(call, 'args') })
      } else if (text !== undefined) answer?.content.push({ type: 'text', text })
    }
  }

  #count(agent: string, more: number): void {
    this.#missing.set(agent, (this.#missing.get(agent) ?? 0) + more)
  }

  #handleFailure(line: unknown, event: unknown, owner: TranscriptOwner, at: number): void {
    const found = {
      ...owner,
      line_id: idOf(peek(line, 'uuid')) ?? `${at}`,
      started_at: startOf(event, at),
      at,
      model: peek(event, 'model'),
      provider: peek(event, 'auth_type'),
      status: peek(event, 'status_code'),
      error: peek(event, 'error_type'),
      message: peek(event, 'error_message'),
    }
    this.#findings.push({ event: 'transcript:failure', at, data: found })
  }

  #emitAnswer(agent: string): void {
    const answer = this.#answers.get(agent)
    if (answer === undefined) return
    this.#answers.delete(agent)
    this.#findings.push({ event: 'transcript:response', at: answer.ended_at, data: answer })
  }
}

function startOf(event: unknown, at: number): number {
  return at - Math.max(0, numberOf(peek(event, 'duration_ms')) ?? 0)
}
