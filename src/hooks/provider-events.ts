import { isDeepStrictEqual } from 'node:util'
import { plainCopy } from './frozen-copy.ts'
import type { HookContext } from './hook.ts'
import type { AfterModel, AfterTool, AfterTurn, BeforeModel, BeforeTool, BeforeTurn, ModelMessage } from './phases.ts'
import type { ToolCall } from './tool-call.ts'
import { type AnyVerdict, block, retry, rewrite } from './verdict.ts'

/** May be called, with a reason or with `{ reason }`, or set: to a reason, or to true. Once set it reads as what it was set to. */
export type Cancel = ((why?: string | { readonly reason?: string }) => void) | string | boolean

/** May be called or set to true. */
export type RetryAgain = ((why?: { readonly feedback?: string }) => void) | boolean

const WITHOUT_REASON = ''

/**
 * What all have. A field that is not to be written throws where it is written: fields are read-only, and the object is frozen; what
 * may be decided is behind setters and methods.
 */
class ProviderEvent {
  readonly #ctx: HookContext

  constructor(ctx: HookContext) {
    this.#ctx = ctx
  }

  /** Of this turn: made with it, gone with it. */
  get state(): Record<string, unknown> {
    return this.#ctx.state
  }

  get session_id(): string | undefined {
    return this.#ctx.sessionId
  }
}

class Cancellable extends ProviderEvent {
  #cancel: string | boolean | undefined
  readonly #call = (why?: string | { readonly reason?: string }): void => {
    this.#cancel = (typeof why === 'object' ? why.reason : why) ?? true
  }

  get cancel(): Cancel {
    return this.#cancel ?? this.#call
  }

  set cancel(why: Cancel) {
    this.#cancel = typeof why === 'function' ? true : why
  }

  get cancelled(): boolean {
    return this.#cancel !== undefined && this.#cancel !== false
  }

  set cancelled(is: boolean) {
    this.#cancel = is
  }

  protected cancellation(): AnyVerdict | undefined {
    return this.cancelled ? block(typeof this.#cancel === 'string' ? this.#cancel : WITHOUT_REASON) : undefined
  }
}

class Repeatable extends ProviderEvent {
  #retry: boolean | undefined
  #feedback: string | undefined
  readonly #call = (why: { readonly feedback?: string } = {}): void => {
    this.#retry = true
    this.#feedback = why.feedback ?? this.#feedback
  }

  get retry(): RetryAgain {
    return this.#retry ?? this.#call
  }

  set retry(is: RetryAgain) {
    this.#retry = is === true
  }

  /** For the model. */
  get retry_feedback(): string | undefined {
    return this.#feedback
  }

  set retry_feedback(feedback: string | undefined) {
    this.#feedback = feedback
  }

  protected repetition(): AnyVerdict | undefined {
    if (this.#retry !== true) return undefined
    return this.#feedback === undefined ? retry() : retry({ feedback: this.#feedback })
  }
}

/** Before a turn. */
export class BeforeInvocationEvent extends Cancellable {
  readonly prompt: string

  constructor({ prompt }: BeforeTurn, ctx: HookContext) {
    super(ctx)
    this.prompt = prompt
    Object.freeze(this)
  }

  decided(): AnyVerdict | undefined {
    return this.cancellation()
  }
}

/** Behind a turn. */
export class AfterInvocationEvent extends ProviderEvent {
  /** What the agent would answer. */
  readonly result: string

  constructor({ answer }: AfterTurn, ctx: HookContext) {
    super(ctx)
    this.result = answer
    Object.freeze(this)
  }

  decided(): undefined {
    return undefined
  }
}

/** Before a request. */
export class BeforeModelCallEvent extends Cancellable {
  readonly model: string | undefined
  readonly #given: readonly ModelMessage[]
  #messages: readonly { readonly role: string; readonly content: string }[]

  constructor({ model, messages }: BeforeModel, ctx: HookContext) {
    super(ctx)
    this.model = model
    this.#given = messages
    this.#messages = messages.map(({ role, text }) => ({ role, content: text }))
    Object.freeze(this)
  }

  /** As many, of the same roles, with other contents: no agent finds others again. */
  get messages(): readonly { readonly role: string; readonly content: string }[] {
    return this.#messages
  }

  set messages(messages: readonly { readonly role: string; readonly content: string }[]) {
    this.#messages = messages
  }

  decided(): AnyVerdict | undefined {
    const now = this.#messages.map(({ role, content }) => ({ role, text: content }))
    return this.cancellation() ?? (isDeepStrictEqual(now, this.#given) ? undefined : rewrite(now))
  }
}

/** Behind a request. */
export class AfterModelCallEvent extends Repeatable {
  readonly model: string | undefined
  readonly tool_calls: readonly ToolCall[]
  readonly error: string | null
  readonly #given: string
  #response: string

  constructor({ model, text, toolCalls, error }: AfterModel, ctx: HookContext) {
    super(ctx)
    this.model = model
    this.tool_calls = toolCalls
    this.error = error === undefined ? null : (error.message ?? error.type ?? 'error')
    this.#given = text
    this.#response = text
    Object.freeze(this)
  }

  /** What is text of it. */
  get response(): string {
    return this.#response
  }

  set response(response: string) {
    this.#response = response
  }

  decided(): AnyVerdict | undefined {
    return this.repetition() ?? (this.#response === this.#given ? undefined : rewrite(this.#response))
  }
}

/** Before a tool. */
export class BeforeToolCallEvent extends Cancellable {
  readonly tool_name: string
  readonly tool_call_id: string | undefined
  readonly #given: Readonly<Record<string, unknown>>
  #arguments: Record<string, unknown>

  constructor({ tool }: BeforeTool, ctx: HookContext) {
    super(ctx)
    this.tool_name = tool.name
    this.tool_call_id = tool.id
    this.#given = tool.arguments
    this.#arguments = plainCopy(tool.arguments)
    Object.freeze(this)
  }

  /** May be set, and changed in place. */
  get arguments(): Record<string, unknown> {
    return this.#arguments
  }

  set arguments(args: Record<string, unknown>) {
    this.#arguments = args
  }

  replace_arguments(args: Record<string, unknown>): void {
    this.#arguments = args
  }

  decided(): AnyVerdict | undefined {
    return (
      this.cancellation() ?? (isDeepStrictEqual(this.#arguments, this.#given) ? undefined : rewrite(this.#arguments))
    )
  }
}

/** Behind a tool. */
export class AfterToolCallEvent extends Repeatable {
  readonly tool_name: string
  /** The same as of the event before it: of calls that run at once, the one. */
  readonly tool_call_id: string | undefined
  /** With which the tool ran. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** What the tool failed with; null where it did not. */
  readonly error: string | null
  readonly #given: unknown
  #result: unknown

  constructor({ tool, result, isError }: AfterTool, ctx: HookContext) {
    super(ctx)
    this.tool_name = tool.name
    this.tool_call_id = tool.id
    this.arguments = tool.arguments
    this.error = isError ? (typeof result === 'string' ? result : (JSON.stringify(result) ?? 'error')) : null
    this.#given = result
    this.#result = plainCopy(result)
    Object.freeze(this)
  }

  get result(): unknown {
    return this.#result
  }

  set result(result: unknown) {
    this.#result = result
  }

  decided(): AnyVerdict | undefined {
    return this.repetition() ?? (isDeepStrictEqual(this.#result, this.#given) ? undefined : rewrite(this.#result))
  }
}
