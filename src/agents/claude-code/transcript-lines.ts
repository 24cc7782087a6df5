import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import {
  type Answer,
  failureOf,
  isFeedback,
  isInterruption,
  isOfStop,
  isSynthetic,
  newAnswer,
  responseOf,
} from './transcript-line.ts'
import { type CancelledHook, TranscriptResults } from './transcript-results.ts'
import type {
  FailureFound,
  InterruptionFound,
  PromptFound,
  RequestFound,
  ResponseFound,
  StopFound,
  Whose,
} from './types.ts'

const BLOCKS_LIMIT = 1000
const SENT_LIMIT = 1000
const AHEAD_LIMIT = 10_000
/** Requests of the loop. Others are for titles, summaries and the like. */
const OF_LOOP = /^(?:sdk$|repl_main_thread|agent:)/
/** Prefilter: most lines are long and of other types. */
const TELLING = [
  ...['"type":"assistant"', '"type":"user"', '"type":"system"', '"type":"api-request"'],
  '"type":"hook_cancelled"',
]

/**
 * Extracts requests from transcript lines. An answer is written when it is complete, one line for each block; results of tools
 * that ran meanwhile stand in between.
 */
export class TranscriptLines {
  readonly #whose: Whose
  #promptId: string | undefined
  /** Time of the last prompt or tool result in the file. */
  #askedAt: number | undefined
  /** The same time according to hooks, which do not lag; zero if unknown. */
  askedAt = 0
  readonly #sent = new LimitedMap<string, number>(SENT_LIMIT)
  /** A request without an answer. */
  #waiting: { readonly at: number; readonly model: unknown } | undefined
  #answer: Answer | undefined
  #calls = new Set<string>()
  #found: HostEvent[] = []
  #ahead: { readonly at: number; readonly line: unknown }[] = []
  readonly #results = new TranscriptResults()
  lastText: string | undefined
  /** The hooks of `Stop` have run for the last answer. */
  isStopped = false
  /** One of these hooks made the agent go on. */
  goesOn = false

  /** @param whose session and agent of the file */
  constructor(whose: Whose) {
    this.#whose = whose
  }

  /** Resets the state after a skipped part of the file: later lines do not continue earlier ones. */
  restart(): void {
    this.#promptId = undefined
    this.#waiting = undefined
    this.#answer = undefined
    this.#ahead = []
    this.#results.take()
  }

  /** Notes a new request reported by hooks: an older pending request has been answered. */
  asked(at: number): void {
    if (at > this.askedAt) this.askedAt = at
  }

  /** Returns true if the request that asked for this tool is known. */
  knows(callId: string): boolean {
    return this.#calls.has(callId) || (this.#waiting !== undefined && this.#waiting.at >= this.askedAt)
  }

  /** Returns true if the answer that requested this tool has been read and, with `withResult`, the tool's result as well. */
  has(callId: string, withResult: boolean): boolean {
    return this.#calls.has(callId) && (!withResult || this.#results.has(callId))
  }

  takeCancelled(): readonly CancelledHook[] {
    return this.#results.takeCancelled()
  }

  /** Returns the findings since the last call, complete answers only. */
  take(): readonly HostEvent[] {
    this.#flush()
    this.#forgetEnd()
    return this.#takeFound()
  }

  /** Returns the findings since the last call, and the request of this tool even if its answer is incomplete. */
  takeFor(callId: string): readonly HostEvent[] {
    if (this.knows(callId)) this.#tellOpen()
    return this.#takeFound()
  }

  #takeFound(): readonly HostEvent[] {
    const found = this.#found
    this.#found = []
    return found
  }

  /** Resets the end: it applies to one answer only. */
  #forgetEnd(): void {
    this.lastText = undefined
    this.isStopped = false
    this.goesOn = false
  }

  /** Queues a line of the file, in order. */
  line(text: string): void {
    if (!TELLING.some(type => text.includes(type))) return
    const line = jsonIn(text)
    const at = Date.parse(textOf(peek(line, 'timestamp')) ?? '')
    if (Number.isNaN(at)) return
    this.#ahead.push({ at, line })
    if (this.#ahead.length > AHEAD_LIMIT) this.#next()
  }

  /**
   * Processes the lines written before a hook and, for `Stop`, the lines about its hooks that follow. Later lines stay queued:
   * they were written while the hook was queued, and their events come after it.
   *
   * @param until when the hook fired, epoch milliseconds
   */
  advance(until: number, isStop: boolean): void {
    for (let [next] = this.#ahead; next !== undefined && next.at <= until; [next] = this.#ahead) this.#next()
    for (let [next] = this.#ahead; isStop && isOfStop(next?.line); [next] = this.#ahead) this.#next()
  }

  #next(): void {
    const { at, line } = this.#ahead.shift() ?? { at: 0, line: undefined }
    const type = peek(line, 'type')
    if (type === 'api-request') this.#request(line, at)
    else if (type === 'user') this.#user(line, at)
    else if (type === 'assistant') this.#assistant(line, at)
    else if (type === 'system') this.#system(line, at)
    else if (type === 'attachment') this.#results.noteCancelled(line, at)
  }

  #request(line: unknown, at: number): void {
    if (!OF_LOOP.test(textOf(peek(line, 'querySource')) ?? 'sdk')) return
    this.#flush()
    const id = idOf(peek(line, 'id'))
    if (id !== undefined) this.#sent.set(id, at)
    this.#waiting = { at, model: peek(peek(line, 'params'), 'model') }
  }

  #user(line: unknown, at: number): void {
    const promptId = idOf(peek(line, 'promptId'))
    const isOther = promptId !== undefined && promptId !== this.#promptId
    if (isOther) {
      this.#flush()
      // The user withdrew the prompt before an answer; no hook reports this request.
      this.#tellOpen()
      this.#waiting = undefined
    }
    this.#promptId = promptId ?? this.#promptId
    if (isOther) this.#begins(line, at)
    if (isInterruption(line)) this.#interrupted(line, at)
    else if (isFeedback(line)) this.goesOn = true
    this.#results.note(line, at, this.#who())
    // Results of the open answer are emitted after it: they need the names and inputs of its calls.
    if (this.#answer === undefined) this.#tellResults()
    this.#askedAt = at
  }

  #begins(line: unknown, at: number): void {
    const prompt = textOf(peek(peek(line, 'message'), 'content'))
    if (prompt === undefined || peek(line, 'isMeta') === true) return
    const found: PromptFound = { ...this.#who(), at, prompt }
    this.#tell('transcript:prompt', at, found)
  }

  #interrupted(line: unknown, at: number): void {
    this.#flush()
    const line_id = idOf(peek(line, 'uuid')) ?? `${at}`
    const found: InterruptionFound = {
      ...this.#who(),
      line_id,
      at,
      started_at: this.#waiting?.at,
      model: this.#waiting?.model,
    }
    this.#waiting = undefined
    this.#tell('transcript:interrupted', at, found)
  }

  #assistant(line: unknown, at: number): void {
    const message = peek(line, 'message')
    if (isSynthetic(line)) {
      if (peek(line, 'isApiErrorMessage') === true) this.#failed(line, at)
      return
    }
    const id = idOf(peek(message, 'id'))
    if (id === undefined) return
    if (this.#answer?.id !== id) this.#begin(id, line, at)
    const answer = this.#answer
    if (answer === undefined) return
    answer.endedAt = Math.max(answer.endedAt, at)
    answer.stopReason = peek(message, 'stop_reason') ?? answer.stopReason
    answer.usage = peek(message, 'usage') ?? answer.usage
    for (const block of elementsOf(peek(message, 'content'), BLOCKS_LIMIT)) this.#block(answer, block)
  }

  #begin(id: string, line: unknown, at: number): void {
    this.#flush()
    const sentAt = this.#sent.get(idOf(peek(line, 'requestRef')) ?? '')
    this.#answer = newAnswer(line, { id, promptId: this.#promptId, sentAt, askedAt: this.#askedAt, at })
    this.#waiting = undefined
    this.#calls = new Set()
    this.#results.forget()
    this.#forgetEnd()
  }

  #block(answer: Answer, block: unknown): void {
    const type = peek(block, 'type')
    if (type === 'text') this.lastText = textOf(peek(block, 'text')) ?? this.lastText
    const callId = type === 'tool_use' ? idOf(peek(block, 'id')) : undefined
    if (callId !== undefined) this.#calls.add(callId)
    if (type === 'text' || type === 'tool_use') answer.content.push(block)
  }

  #system(line: unknown, at: number): void {
    const subtype = peek(line, 'subtype')
    if (subtype === 'api_error') this.#failed(line, at)
    else if (subtype === 'stop_hook_summary') this.#stopped(at)
  }

  #stopped(at: number): void {
    this.isStopped = true
    if (this.goesOn) return
    this.#flush()
    const found: StopFound = { ...this.#who(), at, last_assistant_message: this.lastText }
    this.#tell('transcript:stopped', at, found)
  }

  /** Handles a failed attempt that is retried (`api_error`), or the last one, which Claude Code words itself. */
  #failed(line: unknown, at: number): void {
    this.#flush()
    const found: FailureFound = {
      ...this.#who(),
      ...failureOf(line),
      line_id: idOf(peek(line, 'uuid')) ?? `${at}`,
      started_at: this.#waiting?.at ?? this.#askedAt,
      at,
      model: this.#waiting?.model,
    }
    this.#waiting = undefined
    this.#tell('transcript:failure', at, found)
    if (peek(line, 'type') === 'assistant') this.lastText = textOf(found.message)
  }

  /** Emits the answer, which is complete. */
  #flush(): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    const found: ResponseFound = { ...this.#who(answer.promptId), ...responseOf(answer) }
    this.#tell('transcript:response', answer.endedAt, found)
    this.#tellResults()
  }

  #tellResults(): void {
    for (const found of this.#results.take()) this.#tell('transcript:result', found.at, found)
  }

  #tellOpen(): void {
    const { at, model } = this.#waiting ?? { at: this.#answer?.startedAt, model: this.#answer?.model }
    if (at === undefined) return
    const found: RequestFound = { ...this.#who(this.#answer?.promptId), started_at: at, model }
    this.#tell('transcript:request', at, found)
  }

  #who(promptId: string | undefined = this.#promptId): Whose {
    return { ...this.#whose, prompt_id: promptId }
  }

  #tell(event: string, at: number, data: unknown): void {
    this.#found.push({ event, at, data })
  }
}
