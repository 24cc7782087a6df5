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

/** The bands of priorities, by the names of Locus. */
export const HookPriority = {
  SECURITY_MIN: 0,
  SECURITY_MAX: 99,
  OBSERVABILITY_MIN: 100,
  OBSERVABILITY_MAX: 199,
  BUSINESS_MIN: 200,
  /** As its page calls it; its code says `BUSINESS_MIN`. */
  BUSINESS_LOGIC_MIN: 200,
  BUSINESS_DEFAULT: 250,
  BUSINESS_MAX: 299,
  COSMETIC_MIN: 300,
} as const

/** A provider of hooks, as Locus has them: an object, often of a class, with the methods it cares about. */
export interface HookProvider {
  /** Default: the name of its class. */
  readonly name?: string | undefined
  /** As of any hook. */
  readonly priority?: number | undefined
  /** As `beforeTurn`. */
  on_before_invocation?(event: BeforeInvocationEvent): unknown
  /** As `afterTurn`. */
  on_after_invocation?(event: AfterInvocationEvent): unknown
  /** As `beforeModel`. */
  on_before_model_call?(event: BeforeModelCallEvent): unknown
  /** As `afterModel`. */
  on_after_model_call?(event: AfterModelCallEvent): unknown
  /** As `beforeTool`. */
  on_before_tool_call?(event: BeforeToolCallEvent): unknown
  /** As `afterTool`. */
  on_after_tool_call?(event: AfterToolCallEvent): unknown
}

/** What the provider does not say of itself. */
export interface FromProviderOptions {
  /** Of the hook, where the provider has none. */
  readonly name?: string | undefined
  /** In the place of the provider's. */
  readonly priority?: number | undefined
  /** What it means that a method throws: in Locus it ends the run. Default `pass`. */
  readonly onFailure?: 'pass' | 'block' | undefined
  /**
   * Default: all that its methods can decide. It is then asked with those that change something; one that says `['block']` judges
   * what comes out of them.
   */
  readonly decides?: readonly ('block' | 'rewrite' | 'retry')[] | undefined
}

type Method = Exclude<keyof HookProvider, 'name' | 'priority'>

interface Row {
  readonly method: Method
  /** What the provider's event takes in this phase. */
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
 * A hook out of a provider. Its events take what the page of Locus calls (`event.cancel({ reason })`, `event.retry()`,
 * `event.replace_arguments(args)`) and what its code has (`event.cancel = 'reason'`, `event.retry = true`, `event.result = …`,
 * `event.arguments = …`). A cancellation is more than a rewrite, and so is a retry.
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

/** Those of the decisions that the options allow. Default: all. */
function only(decisions: readonly Decision[], allowed: readonly Decision[] = decisions): readonly Decision[] {
  return decisions.filter(decision => allowed.includes(decision))
}
