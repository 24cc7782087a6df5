import { isDeepStrictEqual } from 'node:util'
import { plainCopy } from './frozen-copy.ts'
import type { AnyHook, Hook, HookContext } from './hook.ts'
import type {
  AfterModel,
  AfterTool,
  AfterTurn,
  BeforeModel,
  BeforeTool,
  BeforeTurn,
  ModelMessage,
  Phase,
} from './phases.ts'
import type { ToolCall } from './tool-call.ts'
import { type AnyVerdict, block, type Decision, retry, rewrite } from './verdict.ts'

/** Priority bands, with the names that Locus uses. */
export const HookPriority = {
  SECURITY_MIN: 0,
  SECURITY_MAX: 99,
  OBSERVABILITY_MIN: 100,
  OBSERVABILITY_MAX: 199,
  BUSINESS_MIN: 200,
  /** The name in the Locus documentation. The Locus code uses `BUSINESS_MIN`. */
  BUSINESS_LOGIC_MIN: 200,
  BUSINESS_DEFAULT: 250,
  BUSINESS_MAX: 299,
  COSMETIC_MIN: 300,
} as const

/** A Locus hook provider: an object, often a class instance, with the methods that it implements. */
export interface HookProvider {
  /** Default: the name of its class. */
  readonly name?: string | undefined
  /** Like `priority` of any hook. */
  readonly priority?: number | undefined
  /** Like `beforeTurn`. */
  on_before_invocation?(event: BeforeInvocationEvent): unknown
  /** Like `afterTurn`. */
  on_after_invocation?(event: AfterInvocationEvent): unknown
  /** Like `beforeModel`. */
  on_before_model_call?(event: BeforeModelCallEvent): unknown
  /** Like `afterModel`. */
  on_after_model_call?(event: AfterModelCallEvent): unknown
  /** Like `beforeTool`. */
  on_before_tool_call?(event: BeforeToolCallEvent): unknown
  /** Like `afterTool`. */
  on_after_tool_call?(event: AfterToolCallEvent): unknown
}

/** Properties of the hook that a provider does not define. */
export interface FromProviderOptions extends Partial<Pick<Hook, 'name' | 'priority' | 'onFailure'>> {
  /**
   * The decisions that the methods may make. Default: all of them. The hook then runs among those that rewrite; with
   * `['block']` it runs after them and judges their result.
   */
  readonly decisions?: readonly ('block' | 'rewrite' | 'retry')[] | undefined
}

type Method = Exclude<keyof HookProvider, 'name' | 'priority'>

/**
 * Converts a provider to a hook. A cancellation or a retry overrides a rewrite. Events support two styles:
 *
 * - the Locus documentation: `event.cancel({ reason })`, `event.retry()`, `event.replace_arguments(args)`
 * - the Locus code: `event.cancel = 'reason'`, `event.retry = true`, `event.result = …`, `event.arguments = …`
 */
export function fromProvider(provider: HookProvider, options: FromProviderOptions = {}): AnyHook {
  const allowed: readonly Decision[] | undefined = options.decisions
  const isAllowed = (decision: Decision): boolean => allowed?.includes(decision) ?? true
  const rows = ROWS.filter(([, method]) => typeof provider[method] === 'function')
  const phases = rows.map(([phase, method, PhaseEvent]) => [
    phase,
    async (given: unknown, ctx: HookContext): Promise<AnyVerdict | undefined> => {
      const event = new PhaseEvent(given, ctx)
      await (provider[method] as (event: unknown) => unknown)(event)
      return event.decided()
    },
  ])
  const hook = {
    name: options.name ?? provider.name ?? provider.constructor.name,
    priority: options.priority ?? provider.priority,
    onFailure: options.onFailure,
    decisions: Object.fromEntries(rows.map(([phase, , , decisions]) => [phase, decisions.filter(isAllowed)])),
    ...Object.fromEntries(phases),
  }
  return hook as AnyHook
}

/** Callable, with a reason or `{ reason }`, or assignable to a reason or true. Reads as the assigned value. */
export type Cancel = ((why?: string | { readonly reason?: string }) => void) | string | boolean

/** Callable, or assignable to true. */
export type RetryAgain = ((why?: { readonly feedback?: string }) => void) | boolean

/**
 * The base of all events. Assigning a read-only field throws, because the object is frozen; decisions go through setters and
 * methods.
 */
class ProviderEvent {
  readonly state: Record<string, unknown>
  readonly session_id: string | undefined

  constructor({ state, sessionId }: HookContext) {
    this.state = state
    this.session_id = sessionId
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
    return this.cancelled ? block(typeof this.#cancel === 'string' ? this.#cancel : '') : undefined
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

  get retry_feedback(): string | undefined {
    return this.#feedback
  }

  set retry_feedback(feedback: string | undefined) {
    this.#feedback = feedback
  }

  protected repetition(): AnyVerdict | undefined {
    if (this.#retry !== true) return undefined
    return retry(this.#feedback === undefined ? {} : { feedback: this.#feedback })
  }
}

/** Fired before a turn. */
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

/** Fired after a turn. */
export class AfterInvocationEvent extends ProviderEvent {
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

/** Fired before a request to the model. */
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

  /** The messages. An assigned list must have the same length and roles: the agent cannot map others back to its own. */
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

/** Fired after a request to the model. */
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

/** Fired before a tool call. */
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

  /** May be assigned, or changed in place. */
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

/** Fired after a tool call. */
export class AfterToolCallEvent extends Repeatable {
  readonly tool_name: string
  /** The same id as in the event before the call. Distinguishes parallel calls. */
  readonly tool_call_id: string | undefined
  readonly arguments: Readonly<Record<string, unknown>>
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

// biome-ignore lint/suspicious/noExplicitAny: each phase has its own event
type EventClass = new (event: any, ctx: HookContext) => { decided(): AnyVerdict | undefined }

const ROWS: readonly (readonly [Phase, Method, EventClass, readonly Decision[]])[] = [
  ['beforeTurn', 'on_before_invocation', BeforeInvocationEvent, ['block']],
  ['afterTurn', 'on_after_invocation', AfterInvocationEvent, []],
  ['beforeModel', 'on_before_model_call', BeforeModelCallEvent, ['block', 'rewrite']],
  ['afterModel', 'on_after_model_call', AfterModelCallEvent, ['rewrite', 'retry']],
  ['beforeTool', 'on_before_tool_call', BeforeToolCallEvent, ['block', 'rewrite']],
  ['afterTool', 'on_after_tool_call', AfterToolCallEvent, ['rewrite', 'retry']],
]
