import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, ID_IN_PATH, openAgentFile } from '../base/agent-file.ts'
import { timestampOf } from '../base/event-machine.ts'
import { pollUntil } from '../base/file-adapter.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { plainText } from '../base/messages.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment } from '../receiver-adapter.ts'
import type { TranscriptOwner, TranscriptResponse, TranscriptToolResult } from './events.ts'

/** Requests of the loop. Others are for titles, summaries and the like. */
const OF_LOOP = /^(?:sdk$|repl_main_thread|agent:)/
/** Prefilter: most lines are long and of other types. */
const RELEVANT = ['assistant', 'user', 'system', 'api-request', 'hook_cancelled'].map(type => `"type":"${type}"`)
const INTERRUPTED = '[Request interrupted by user'
const STOP_FEEDBACK = 'Stop hook feedback:'

/** `callId`: of the tool, otherwise of the hook itself. `command`: the command or URL, which Claude Code omits after a tool. */
export interface CancelledHook {
  readonly event: string
  readonly callId: string | undefined
  readonly command: string | undefined
  readonly firedAt: number
}

/**
 * Transcripts lag behind the hooks, usually by a tenth of a second, on a busy machine by over a second. The wait is shorter after
 * an earlier wait for the same hook was in vain.
 */
const PATIENCE_MILLIS = 1500
export const ABSENT_PATIENCE_MILLIS = 500
const LESS_PATIENCE_MILLIS = 160

/**
 * Extracts requests from transcript lines. An answer is written when it is complete, one line for each block; results of tools
 * that ran meanwhile stand in between.
 */
export class ClaudeTranscript {
  readonly owner: FindingOwner
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  isThere = false
  /** The agent has ended; its last lines are not written yet. */
  hasPendingLines = false
  /** Hooks for which the awaited lines did not appear: a hook of another program is slow, or the lines are never written. */
  readonly #vainWaits = new Set<string>()
  #promptId: string | undefined
  branch: string | undefined
  #askedAt: number | undefined
  /** The same time according to hooks, which do not lag; zero if unknown. An older pending request has been answered. */
  askedAt = 0
  readonly #sent = new LimitedMap<string, number>(1000)
  #unanswered: { readonly at: number; readonly model: unknown } | undefined
  #answer: TranscriptResponse | undefined
  #calls = new Set<string>()
  #findings: HostEvent[] = []
  #ahead: { readonly at: number; readonly line: unknown }[] = []
  #results: TranscriptToolResult[] = []
  readonly #resultIds = new Set<string>()
  readonly cancelledHooks: CancelledHook[] = []
  /** When the start hook that timed out was fired, by tool call. */
  readonly #starts = new LimitedMap<string, number>(1000)
  lastText: string | undefined
  /** The hooks of `Stop` have run for the last answer; `goesOn`: one of them made the agent go on. */
  isStopped = false
  goesOn = false

  constructor(owner: FindingOwner, path = '') {
    this.owner = owner
    this.#path = path
  }

  async readUntil(event: string, environment: AdapterEnvironment, isEnough: () => boolean): Promise<void> {
    const look = async (): Promise<boolean> => {
      await this.#read(environment)
      return isEnough()
    }
    const isFound = await pollUntil(look, () => this.#patienceFor(event), environment)
    if (isFound) this.#vainWaits.delete(event)
    else this.#vainWaits.add(event)
    this.hasPendingLines = !isFound && this.owner.agent_id !== undefined && event !== 'PreToolUse'
  }

  #patienceFor(event: string): number {
    if (this.isThere) return this.#vainWaits.has(event) ? LESS_PATIENCE_MILLIS : PATIENCE_MILLIS
    return this.#vainWaits.has(event) ? 0 : ABSENT_PATIENCE_MILLIS
  }

  async readRest(environment: AdapterEnvironment): Promise<void> {
    this.hasPendingLines = false
    await this.#read(environment)
    this.advance(Number.POSITIVE_INFINITY, false)
  }

  async #read({ place }: AdapterEnvironment): Promise<void> {
    // After a skipped part of the file, later lines do not continue earlier ones.
    const restart = (): void => {
      this.#promptId = undefined
      this.#unanswered = undefined
      this.#answer = undefined
      this.#ahead = []
      this.#results = []
    }
    this.isThere = await this.#reader.readFrom(openFile(this.#path, place), line => this.addLine(line), restart)
  }

  hasRequestOf(callId: string): boolean {
    return this.#calls.has(callId) || (this.#unanswered !== undefined && this.#unanswered.at >= this.askedAt)
  }

  hasAnswerOf(callId: string, withResult: boolean): boolean {
    return this.#calls.has(callId) && (!withResult || this.#resultIds.has(callId))
  }

  drain(): readonly HostEvent[] {
    this.#emitAnswer()
    this.#resetEnd()
    return this.#findings.splice(0)
  }

  /** Returns the findings since the last call, and the request of this tool even if its answer is incomplete. */
  drainFor(callId: string): readonly HostEvent[] {
    if (this.hasRequestOf(callId)) this.#emitRequest()
    return this.#findings.splice(0)
  }

  /** The end applies to one answer only. */
  #resetEnd(): void {
    this.lastText = undefined
    this.isStopped = false
    this.goesOn = false
  }

  addLine(text: string): void {
    if (!RELEVANT.some(type => text.includes(type))) return
    const line = jsonIn(text)
    const at = timestampOf(line)
    if (at === undefined) return
    this.#ahead.push({ at, line })
    if (this.#ahead.length > 10_000) this.#processNext()
  }

  /**
   * Processes the lines written before a hook and, for `Stop`, the lines about its hooks that follow. Later lines stay queued:
   * they were written while the hook was queued, and their events come after it.
   *
   * @param until when the hook fired, epoch milliseconds
   */
  advance(until: number, isStop: boolean): void {
    for (let [next] = this.#ahead; next !== undefined && next.at <= until; [next] = this.#ahead) this.#processNext()
    const isOfStop = (line: unknown): boolean => isFeedback(line) || peek(line, 'subtype') === 'stop_hook_summary'
    while (isStop && isOfStop(this.#ahead[0]?.line)) this.#processNext()
  }

  #processNext(): void {
    const { at, line } = this.#ahead.shift() ?? { at: 0, line: undefined }
    const type = peek(line, 'type')
    if (type === 'api-request') this.#handleRequest(line, at)
    else if (type === 'user') this.#handleUser(line, at)
    else if (type === 'assistant') this.#handleAssistant(line, at)
    else if (type === 'attachment') this.#handleCancelledHook(line, at)
    else if (type !== 'system') return
    else if (peek(line, 'subtype') === 'api_error') this.#handleFailure(line, at)
    else if (peek(line, 'subtype') === 'stop_hook_summary') this.#handleStop(at)
  }

  #handleRequest(line: unknown, at: number): void {
    if (!OF_LOOP.test(textOf(peek(line, 'querySource')) ?? 'sdk')) return
    this.#emitAnswer()
    const id = idOf(peek(line, 'id'))
    if (id !== undefined) this.#sent.set(id, at)
    this.#unanswered = { at, model: peek(peek(line, 'params'), 'model') }
  }

  #handleUser(line: unknown, at: number): void {
    const promptId = idOf(peek(line, 'promptId'))
    const isOther = promptId !== undefined && promptId !== this.#promptId
    if (isOther) {
      this.#emitAnswer()
      // The user withdrew the prompt before an answer; no hook reports this request.
      this.#emitRequest()
      this.#unanswered = undefined
    }
    this.#promptId = promptId ?? this.#promptId
    this.branch = textOf(peek(line, 'gitBranch')) ?? this.branch
    const prompt = isOther ? textOf(contentOf(line)) : undefined
    if (prompt !== undefined && peek(line, 'isMeta') !== true) this.#emit('prompt', at, { at, prompt })
    if (startsWith(line, INTERRUPTED)) this.#handleInterruption(line, at)
    else if (isFeedback(line)) this.goesOn = true
    for (const block of elementsOf(contentOf(line))) this.#handleResult(line, block, at)
    // Results of the open answer are emitted after it: they need the names and inputs of its calls.
    if (this.#answer === undefined) this.#emitResults()
    this.#askedAt = at
  }

  #handleResult(line: unknown, block: unknown, at: number): void {
    const id = peek(block, 'type') === 'tool_result' ? idOf(peek(block, 'tool_use_id')) : undefined
    if (id === undefined) return
    this.#resultIds.add(id)
    const content = peek(block, 'content')
    const isError = peek(block, 'is_error') === true
    // The structured result, which hooks have as well. A child agent's transcript contains only the text sent to the model.
    const response = (isError ? undefined : peek(line, 'toolUseResult')) ?? plainText(content) ?? content
    const denial = peek(line, 'toolDenialKind')
    const times = { at, started_at: this.#starts.get(id) }
    this.#results.push({ ...this.#ids(), is_error: isError || undefined, denial, response, tool_use_id: id, ...times })
  }

  #handleInterruption(line: unknown, at: number): void {
    this.#emitAnswer()
    const line_id = idOf(peek(line, 'uuid')) ?? `${at}`
    const { at: started_at, model } = this.#unanswered ?? {}
    this.#unanswered = undefined
    this.#emit('interrupted', at, { line_id, at, started_at, model })
  }

  #handleAssistant(line: unknown, at: number): void {
    const message = peek(line, 'message')
    // Written by Claude Code itself in place of a model.
    if (peek(message, 'model') === '<synthetic>') {
      if (peek(line, 'isApiErrorMessage') === true) this.#handleFailure(line, at)
      return
    }
    const id = idOf(peek(message, 'id'))
    if (id === undefined) return
    const answer = this.#answer?.message_id === id ? this.#answer : this.#startAnswer(id, line, at)
    answer.ended_at = Math.max(answer.ended_at, at)
    answer.stop_reason = peek(message, 'stop_reason') ?? answer.stop_reason
    answer.usage = peek(message, 'usage') ?? answer.usage
    for (const block of elementsOf(peek(message, 'content'))) {
      const type = peek(block, 'type')
      const callId = type === 'tool_use' ? idOf(peek(block, 'id')) : undefined
      if (type === 'text') this.lastText = textOf(peek(block, 'text')) ?? this.lastText
      if (callId !== undefined) this.#calls.add(callId)
      if (type === 'text' || type === 'tool_use') answer.content.push(block)
    }
  }

  #startAnswer(message_id: string, line: unknown, at: number): TranscriptResponse {
    this.#emitAnswer()
    const sentAt = this.#sent.get(idOf(peek(line, 'requestRef')) ?? '')
    const answer: TranscriptResponse = {
      ...this.#ids(),
      message_id,
      model: peek(peek(line, 'message'), 'model'),
      content: [],
      started_at: sentAt ?? this.#askedAt,
      start_is_guessed: sentAt === undefined || undefined,
      ended_at: at,
    }
    this.#answer = answer
    this.#unanswered = undefined
    this.#calls = new Set()
    this.#resultIds.clear()
    this.#resetEnd()
    return answer
  }

  #handleStop(at: number): void {
    this.isStopped = true
    if (this.goesOn) return
    this.#emitAnswer()
    this.#emit('stopped', at, { at, last_assistant_message: this.lastText })
  }

  /** Handles a failed attempt that is retried (`api_error`), or the last one, which Claude Code words itself. */
  #handleFailure(line: unknown, at: number): void {
    this.#emitAnswer()
    const isLast = peek(line, 'type') === 'assistant'
    const error = peek(line, 'error')
    const text = isLast ? firstText(contentOf(line)) : textOf(peek(error, 'formatted'))
    this.#emit('failure', at, {
      status: peek(line, 'apiErrorStatus') ?? peek(error, 'status'),
      error: isLast ? error : errorKind(Number(peek(error, 'status'))),
      message: text,
      retry_in_ms: peek(line, 'retryInMs'),
      max_retries: peek(line, 'maxRetries'),
      line_id: idOf(peek(line, 'uuid')) ?? `${at}`,
      started_at: this.#unanswered?.at ?? this.#askedAt,
      at,
      model: this.#unanswered?.model,
    })
    this.#unanswered = undefined
    if (isLast) this.lastText = text
  }

  /** Handles an `attachment` line `{type: hook_cancelled, hookEvent, toolUseID, command?, timeoutMs?}`. */
  #handleCancelledHook(line: unknown, at: number): void {
    const attachment = peek(line, 'attachment')
    const event = textOf(peek(attachment, 'hookEvent'))
    if (peek(attachment, 'type') !== 'hook_cancelled' || event === undefined) return
    const timeoutMillis = numberOf(peek(attachment, 'timeoutMs'))
    const firedAt = at - (timeoutMillis ?? 0)
    const callId = idOf(peek(attachment, 'toolUseID'))
    if (event === 'PreToolUse' && callId !== undefined && timeoutMillis !== undefined) this.#starts.set(callId, firedAt)
    if (this.cancelledHooks.length >= 10_000) return
    this.cancelledHooks.push({ event, callId, command: textOf(peek(attachment, 'command')), firedAt })
  }

  #emitAnswer(): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.#emit('response', answer.ended_at, { ...answer, ...this.#ids(answer.prompt_id) })
    this.#emitResults()
  }

  #emitResults(): void {
    for (const result of this.#results.splice(0)) this.#emit('result', result.at, result)
  }

  #emitRequest(): void {
    const { at, model } = this.#unanswered ?? { at: this.#answer?.started_at, model: this.#answer?.model }
    if (at === undefined) return
    this.#emit('request', at, { ...this.#ids(this.#answer?.prompt_id), started_at: at, model })
  }

  #ids(promptId: string | undefined = this.#promptId): TranscriptOwner {
    return { ...this.owner, prompt_id: promptId }
  }

  #emit(name: string, at: number, facts: object): void {
    this.#findings.push({ event: `transcript:${name}`, at, data: { ...this.#ids(), ...facts } })
  }
}

function isFeedback(line: unknown): boolean {
  return peek(line, 'type') === 'user' && peek(line, 'isMeta') === true && startsWith(line, STOP_FEEDBACK)
}

function contentOf(line: unknown): unknown {
  return peek(peek(line, 'message'), 'content')
}

function startsWith(line: unknown, start: string): boolean {
  return firstText(contentOf(line))?.startsWith(start) ?? false
}

function firstText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  return elementsOf(content).flatMap(block => textOf(peek(block, 'text')) ?? [])[0]
}

function errorKind(status: number): string {
  return status >= 500 ? 'server_error' : status === 429 ? 'rate_limit' : 'unknown'
}

export function agentFile(
  transcript: string | undefined,
  agentId: string | undefined,
  ending: '.jsonl' | '.meta.json',
): string | undefined {
  if (!ID_IN_PATH.test(agentId ?? '') || transcript?.endsWith('.jsonl') !== true) return undefined
  return join(transcript.slice(0, -'.jsonl'.length), 'subagents', `agent-${agentId}${ending}`)
}

export async function openFile(path: string, place: AgentFolders): Promise<FileHandle | undefined> {
  return openAgentFile(path, place, 'projects')
}
