import { writeTo } from '../terminal/write-to.ts'
import type { EventOf, Phase, Verdict } from './phases.ts'
import type { Decision } from './verdict.ts'

/** Where hooks of a kind stand. Lower comes first before something happens, and last after it. */
export const PRIORITY = { security: 0, observability: 100, business: 200, cosmetic: 300 } as const

/** Takes lines for the person. */
export interface HookLogger {
  /** Something worth knowing. */
  info(line: string): void
  /** Something that went wrong. */
  warn(line: string): void
}

/** Where lines for the person go, unless they are wanted elsewhere. */
export function toStandardError(line: string): void {
  writeTo(process.stderr, `${line}\n`)
}

/** What there is beside the event. */
export interface HookContext {
  /** The agent: `pi`, `claude-code`, … */
  readonly host: string
  /** The agent's own id of the session. */
  readonly sessionId: string | undefined
  /** The agent's own id of the turn, where it has one. */
  readonly turnId: string | undefined
  /** Which of the six is asked. */
  readonly phase: Phase
  /** Of this turn: made with it, gone with it, the same for all hooks. */
  readonly state: Record<string, unknown>
  /** What the hooks before have handed on, in this phase. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** Aborted when the hook's time is over, or the agent is stopped. */
  readonly signal: AbortSignal
  /** Where lines for the person go. */
  readonly logger: HookLogger
  /** W3C, of the span that this is about, where the agent is traced. */
  readonly traceparent: string | undefined
}

/** What a hook gives back. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing passes
export type HookAnswer<P extends Phase, D extends Decision> = Verdict<P, D> | undefined | void

/** What a hook does in each phase. */
export type PhaseFunctions<D extends Decision> = {
  readonly [P in Phase]?: (event: EventOf<P>, ctx: HookContext) => HookAnswer<P, D> | Promise<HookAnswer<P, D>>
}

/** What a hook decides in each phase. */
export type DecidesByPhase<D extends Decision = Decision> = { readonly [P in Phase]?: readonly D[] | undefined }

/** A hook. It is handed a frozen event, and returns what it decides; nothing: `pass`. */
export interface Hook<D extends Decision = Decision> extends PhaseFunctions<D> {
  /** One hook has a name. */
  readonly name: string
  /** 0 to 99: security; 100 to 199: observability; 200 to 299: business; 300 and more: cosmetic. Default 200. */
  readonly priority?: number | undefined
  /**
   * What it decides, beside `pass`. Hooks that `rewrite` or `inject` come first; the others judge what has come out. Default:
   * `block`. A hook that decides different things in different phases gives a list for each; a phase without one only looks.
   */
  readonly decides?: readonly D[] | DecidesByPhase<D> | undefined
  /** Phases in which it only looks and decides nothing: no agent need be able to do there what it decides elsewhere. */
  readonly looksIn?: readonly Phase[] | undefined
  /** What it means that the hook throws, takes too long or returns nonsense. Default `pass`. */
  readonly onFailure?: 'pass' | 'block' | undefined
  /** Default: what is left of the time of all hooks. */
  readonly timeLimitMillis?: number | undefined
}

/** Any hook, whatever it decides. */
// biome-ignore lint/suspicious/noExplicitAny: what a hook decides is checked where it is defined, and again when it answers
export type AnyHook = Hook<any> | Hook<never>

/** A hook, with its types. What it does not say that it decides, or what a phase cannot do, does not compile. */
export function defineHook<const D extends Decision = 'block'>(
  hook: Omit<Hook<NoInfer<D>>, 'decides'> &
    PhaseFunctions<NoInfer<D>> & { readonly decides?: readonly D[] | DecidesByPhase<D> },
): Hook<D> {
  return hook
}

const ONLY_BLOCKS: readonly Decision[] = ['block']

const NOTHING: readonly Decision[] = []

/** The decisions of a hook in a phase. */
export function decisionsIn({ decides = ONLY_BLOCKS, looksIn }: AnyHook, phase: Phase): readonly Decision[] {
  if (looksIn?.includes(phase) === true) return NOTHING
  return Array.isArray(decides) ? decides : ((decides as DecidesByPhase)[phase] ?? NOTHING)
}

/** It changes what the others judge. */
export function transforms(hook: AnyHook, phase: Phase): boolean {
  return decisionsIn(hook, phase).some(decision => decision === 'rewrite' || decision === 'inject')
}
