import { isDeepStrictEqual } from 'node:util'
import { plainCopy } from './frozen-copy.ts'
import type { AnyHook, Hook, HookContext } from './hook.ts'
import type { AfterModel, AfterTool, AfterTurn, BeforeModel, BeforeTool, BeforeTurn } from './phases.ts'
import { PHASES, type Phase } from './phases.ts'
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
  const phases = rows.map(([phase, method, Event, , field]) => [
    phase,
    async (given: never, ctx: HookContext): Promise<AnyVerdict | undefined> => {
      const event = new Event(given, ctx)
      lockFields(event, field)
      await (provider[method] as (event: unknown) => unknown)(event)
      // Read before the value: the decision also counts if the provider has left a value that cannot be compared.
      const decision = event.decision()
      if (decision !== undefined || field === undefined) return decision
      const value = rewritableValue(event, field)
      return isDeepStrictEqual(value, PHASES[phase].valueOf(given)) ? undefined : rewrite(value)
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

/** Assigning a field throws, except `value` and the feedback. Decisions go through setters and methods. */
function lockFields(event: object, value: string | undefined): void {
  for (const name of Object.keys(event))
    if (name !== value && name !== 'retry_feedback') Object.defineProperty(event, name, { writable: false })
  Object.seal(event)
}

function rewritableValue(event: object, field: string): unknown {
  if (event instanceof BeforeModelCallEvent) return event.messages.map(({ role, content }) => ({ role, text: content }))
  return (event as Record<string, unknown>)[field]
}

/** Callable, with a reason or `{ reason }`, or assignable to a reason or true. Reads as the assigned value. */
export type Cancel = ((why?: string | { readonly reason?: string }) => void) | string | boolean

/** Callable, or assignable to true. */
export type RetryAgain = ((why?: { readonly feedback?: string }) => void) | boolean

class ProviderEvent {
  readonly state: Record<string, unknown>
  readonly session_id: string | undefined

  constructor({ state, sessionId }: HookContext) {
    this.state = state
    this.session_id = sessionId
  }

  decision(): AnyVerdict | undefined {
    return undefined
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

  override decision(): AnyVerdict | undefined {
    return this.cancelled ? block(typeof this.#cancel === 'string' ? this.#cancel : '') : undefined
  }
}

class Repeatable extends ProviderEvent {
  retry_feedback: string | undefined
  #retry: boolean | undefined
  readonly #call = (why: { readonly feedback?: string } = {}): void => {
    this.#retry = true
    this.retry_feedback = why.feedback ?? this.retry_feedback
  }

  get retry(): RetryAgain {
    return this.#retry ?? this.#call
  }

  set retry(is: RetryAgain) {
    this.#retry = is === true
  }

  override decision(): AnyVerdict | undefined {
    if (this.#retry !== true) return undefined
    return retry(this.retry_feedback === undefined ? {} : { feedback: this.retry_feedback })
  }
}

/** Fired before a turn. */
export class BeforeInvocationEvent extends Cancellable {
  readonly prompt: string

  constructor({ prompt }: BeforeTurn, ctx: HookContext) {
    super(ctx)
    this.prompt = prompt
  }
}

/** Fired after a turn. */
export class AfterInvocationEvent extends ProviderEvent {
  readonly result: string

  constructor({ answer }: AfterTurn, ctx: HookContext) {
    super(ctx)
    this.result = answer
  }
}

/** Fired before a request to the model. */
export class BeforeModelCallEvent extends Cancellable {
  readonly model: string | undefined
  /** The messages. An assigned list must have the same length and roles: the agent cannot map others back to its own. */
  messages: readonly { readonly role: string; readonly content: string }[]

  constructor({ model, messages }: BeforeModel, ctx: HookContext) {
    super(ctx)
    this.model = model
    this.messages = messages.map(({ role, text }) => ({ role, content: text }))
  }
}

/** Fired after a request to the model. */
export class AfterModelCallEvent extends Repeatable {
  readonly model: string | undefined
  readonly tool_calls: readonly ToolCall[]
  readonly error: string | null
  response: string

  constructor({ model, text, toolCalls, error }: AfterModel, ctx: HookContext) {
    super(ctx)
    this.model = model
    this.tool_calls = toolCalls
    this.error = error === undefined ? null : (error.message ?? error.type ?? 'error')
    this.response = text
  }
}

/** Fired before a tool call. */
export class BeforeToolCallEvent extends Cancellable {
  readonly tool_name: string
  readonly tool_call_id: string | undefined
  /** May be assigned, or changed in place. */
  arguments: Record<string, unknown>

  constructor({ tool }: BeforeTool, ctx: HookContext) {
    super(ctx)
    this.tool_name = tool.name
    this.tool_call_id = tool.id
    this.arguments = plainCopy(tool.arguments)
  }

  replace_arguments(args: Record<string, unknown>): void {
    this.arguments = args
  }
}

/** Fired after a tool call. */
export class AfterToolCallEvent extends Repeatable {
  readonly tool_name: string
  /** The same id as in the event before the call. Distinguishes parallel calls. */
  readonly tool_call_id: string | undefined
  readonly arguments: Readonly<Record<string, unknown>>
  readonly error: string | null
  result: unknown

  constructor({ tool, result, isError }: AfterTool, ctx: HookContext) {
    super(ctx)
    this.tool_name = tool.name
    this.tool_call_id = tool.id
    this.arguments = tool.arguments
    this.error = isError ? (typeof result === 'string' ? result : (JSON.stringify(result) ?? 'error')) : null
    this.result = plainCopy(result)
  }
}

type EventClass = new (given: never, ctx: HookContext) => ProviderEvent

/** The last element: the field of the event whose new value is a rewrite. */
const ROWS: readonly (readonly [Phase, Method, EventClass, readonly Decision[], field?: string])[] = [
  ['beforeTurn', 'on_before_invocation', BeforeInvocationEvent, ['block']],
  ['afterTurn', 'on_after_invocation', AfterInvocationEvent, []],
  ['beforeModel', 'on_before_model_call', BeforeModelCallEvent, ['block', 'rewrite'], 'messages'],
  ['afterModel', 'on_after_model_call', AfterModelCallEvent, ['rewrite', 'retry'], 'response'],
  ['beforeTool', 'on_before_tool_call', BeforeToolCallEvent, ['block', 'rewrite'], 'arguments'],
  ['afterTool', 'on_after_tool_call', AfterToolCallEvent, ['rewrite', 'retry'], 'result'],
]
