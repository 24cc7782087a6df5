import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { anthropicUsage, combineUsage, minus, NO_USAGE, plus, type UsageCounts } from '../base/usage.ts'
import { type ClaudeCall, ClaudeLoop, type ClaudeLoopIds, ClaudeSession, type Dialect } from '../claude-code/session.ts'

const SDK: Dialect = { platform: 'claude-agent-sdk', provider: 'anthropic', usageOf: anthropicUsage }

/**
 * `messageId`: undefined until the message that answers it is read. `isTimed`: the SDK reported start and end; otherwise they
 * are derived from earlier events.
 */
export class SdkAttempt extends ModelRequest {
  messageId: string | undefined
  model: string | undefined
  readonly content: unknown[] = []
  tokens: UsageCounts | undefined
  isExact = false
  isTimed = false
  stopReason: string | undefined
  /** Set once it is answered. */
  endAt: number | undefined
}

/** A loop whose requests are known from messages, which the application may read late. */
export class SdkLoop extends ClaudeLoop {
  declare readonly session: SdkSession
  /** The time from which a request without any events may be running. */
  askedAt: number | undefined = this.startAt
  /**
   * Ordered. Answered attempts stay until later messages can no longer change them. `emittedIds`: message ids of the latest
   * emitted ones: a late block of one begins no new attempt.
   */
  attempts: SdkAttempt[] = []
  readonly emittedIds: LimitedMap<string, true> = new LimitedMap(8)
  counted: UsageCounts = NO_USAGE
  stopped: { readonly at: number; readonly text: unknown } | undefined
  failure: string | undefined
  /** The end of a child agent, according to its notification and to the result of its call. */
  notified: { readonly at: number; readonly data: unknown } | undefined
  handedBack: { readonly at: number; readonly response: unknown; readonly hasFailed: boolean } | undefined

  /** Begins an attempt. If its start is unknown, it is the last event after which the SDK sends a request. */
  beginAttempt(at: number, model?: string, sentAt?: number): SdkAttempt {
    this.emitPrompt(model)
    const since = this.askedAt ?? at
    const startAt = Math.min(at, Math.max(since, sentAt ?? since))
    const attempt = new SdkAttempt(this, startAt, this.requests.nextNumbers())
    attempt.isTimed = sentAt !== undefined
    attempt.model = this.model
    this.askedAt = undefined
    this.attempts.push(attempt)
    attempt.emitStart({ model: attempt.model, provider: this.provider }, attempt.isTimed ? undefined : 'inferred')
    return attempt
  }

  countTokens(attempt: SdkAttempt, tokens: UsageCounts | undefined): void {
    const added = combineUsage(tokens ?? NO_USAGE, attempt.tokens ?? NO_USAGE, minus)
    attempt.tokens = tokens
    this.counted = combineUsage(this.counted, added, plus)
    this.session.counted = combineUsage(this.session.counted, added, plus)
  }

  /** A tool whose message was not read yet belongs to the pending attempt. */
  override beforeTool(call: ClaudeCall, at: number): void {
    call.requestId ??= (this.askedAt === undefined ? this.attempts.at(-1) : this.beginAttempt(at))?.id
    this.emitPrompt()
  }
}

export class SdkSession extends ClaudeSession {
  declare main: SdkLoop | undefined
  declare readonly children: LimitedMap<string, SdkLoop>
  query: string | undefined
  /**
   * A prompt whose turn begins with the next event, when the model is known. `waiting`: events of the next turn, buffered while
   * messages of the current turn are unread.
   */
  prompt: TimedEvent | undefined
  waiting: TimedEvent[] = []
  compactionEndAt: number | undefined
  counted: UsageCounts = NO_USAGE
  /** Tokens counted by the SDK and not emitted yet. If negative, more was emitted than the SDK has counted so far. */
  pendingTokens: UsageCounts = NO_USAGE

  constructor(records: Records, id: string) {
    super(records, id, SDK)
  }

  override createLoop(ids: ClaudeLoopIds, at: number, text: unknown): SdkLoop {
    return new SdkLoop(this, ids, at, text)
  }
}
