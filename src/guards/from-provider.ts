import type { AnyHook, HookContext } from './hook.ts'
import type { Phase } from './phases.ts'
import {
  AfterInvocationEvent,
  AfterModelCallEvent,
  AfterToolCallEvent,
  BeforeInvocationEvent,
  BeforeModelCallEvent,
  BeforeToolCallEvent,
} from './provider-events.ts'
import type { AnyVerdict, Decision } from './verdict.ts'

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
export interface FromProviderOptions {
  /** The hook's name, if the provider has none. */
  readonly name?: string | undefined
  /** Overrides the provider's priority. */
  readonly priority?: number | undefined
  /** The decision if a method throws (in Locus, this ends the run). Default `pass`. */
  readonly onFailure?: 'pass' | 'block' | undefined
  /**
   * The decisions that the methods may make. Default: all of them. The hook then runs among those that rewrite; with
   * `['block']` it runs after them and judges their result.
   */
  readonly decides?: readonly ('block' | 'rewrite' | 'retry')[] | undefined
}

type Method = Exclude<keyof HookProvider, 'name' | 'priority'>

interface Row {
  readonly method: Method
  /** The decisions that the provider's event supports in this phase. */
  readonly decisions: readonly Decision[]
  // biome-ignore lint/suspicious/noExplicitAny: each phase has its own event
  make(event: any, ctx: HookContext): { decided(): AnyVerdict | undefined }
}

const ROWS: { readonly [P in Phase]: Row } = {
  beforeTurn: {
    method: 'on_before_invocation',
    decisions: ['block'],
    make: (event, ctx) => new BeforeInvocationEvent(event, ctx),
  },
  afterTurn: {
    method: 'on_after_invocation',
    decisions: [],
    make: (event, ctx) => new AfterInvocationEvent(event, ctx),
  },
  beforeModel: {
    method: 'on_before_model_call',
    decisions: ['block', 'rewrite'],
    make: (event, ctx) => new BeforeModelCallEvent(event, ctx),
  },
  afterModel: {
    method: 'on_after_model_call',
    decisions: ['rewrite', 'retry'],
    make: (event, ctx) => new AfterModelCallEvent(event, ctx),
  },
  beforeTool: {
    method: 'on_before_tool_call',
    decisions: ['block', 'rewrite'],
    make: (event, ctx) => new BeforeToolCallEvent(event, ctx),
  },
  afterTool: {
    method: 'on_after_tool_call',
    decisions: ['rewrite', 'retry'],
    make: (event, ctx) => new AfterToolCallEvent(event, ctx),
  },
}

/**
 * Converts a provider to a hook. A cancellation or a retry overrides a rewrite. Events support two styles:
 *
 * - the Locus documentation: `event.cancel({ reason })`, `event.retry()`, `event.replace_arguments(args)`
 * - the Locus code: `event.cancel = 'reason'`, `event.retry = true`, `event.result = …`, `event.arguments = …`
 */
export function fromProvider(provider: HookProvider, options: FromProviderOptions = {}): AnyHook {
  const rows = Object.entries(ROWS).filter(([, { method }]) => typeof provider[method] === 'function')
  const phases = rows.map(([phase, { method, make }]) => [
    phase,
    async (given: unknown, ctx: HookContext): Promise<AnyVerdict | undefined> => {
      const event = make(given, ctx)
      await (provider[method] as (event: unknown) => unknown)(event)
      return event.decided()
    },
  ])
  const hook = {
    name: options.name ?? provider.name ?? provider.constructor.name,
    priority: options.priority ?? provider.priority,
    onFailure: options.onFailure,
    decides: Object.fromEntries(rows.map(([phase, { decisions }]) => [phase, only(decisions, options.decides)])),
    ...Object.fromEntries(phases),
  }
  return hook as AnyHook
}

function only(decisions: readonly Decision[], allowed: readonly Decision[] = decisions): readonly Decision[] {
  return decisions.filter(decision => allowed.includes(decision))
}
