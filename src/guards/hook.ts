import { redactWithin } from '../content/clip.ts'
import { oneLine } from '../content/one-line.ts'
import { createRedactor } from '../content/redaction.ts'
import { writeTo } from '../delivery/terminal.ts'
import type { EventOf, Phase, Verdict } from './phases.ts'
import type { Decision } from './verdict.ts'

/** Priorities by kind of hook. Lower runs first in `before…` phases and last in `after…` phases. */
export const PRIORITY = { security: 0, observability: 100, business: 200, cosmetic: 300 } as const

/** Receives lines for the user. */
export interface HookLogger {
  /** Reports information. */
  info(line: string): void
  /** Reports a problem. */
  warn(line: string): void
}

export function toStandardError(line: string): void {
  writeTo(process.stderr, `${line}\n`)
}

/** The context of a hook call, beside the event. */
export interface HookContext {
  /** The agent: `pi`, `claude-code`, … */
  readonly host: string
  /** The agent's own id of the session. */
  readonly sessionId: string | undefined
  /** The agent's own id of the turn, if it has one. */
  readonly turnId: string | undefined
  /** The current phase. */
  readonly phase: Phase
  /** State of this turn, shared by all hooks and discarded with the turn. */
  readonly state: Record<string, unknown>
  /** Metadata of earlier hooks in this phase. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** Aborted if the hook's time is over or the agent is stopped. */
  readonly signal: AbortSignal
  /** The logger for lines to the user. */
  readonly logger: HookLogger
  /** The W3C traceparent of the current span, if the agent is traced. */
  readonly traceparent: string | undefined
}

/** The return value of a hook. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing passes
export type HookAnswer<P extends Phase, D extends Decision> = Verdict<P, D> | undefined | void

/** The functions of a hook, one for each phase. */
export type PhaseFunctions<D extends Decision> = {
  readonly [P in Phase]?: (event: EventOf<P>, ctx: HookContext) => HookAnswer<P, D> | Promise<HookAnswer<P, D>>
}

/** The decisions of a hook by phase. */
export type DecisionsByPhase<D extends Decision = Decision> = { readonly [P in Phase]?: readonly D[] | undefined }

/** A hook. Each function receives a frozen event and returns a verdict; undefined means `pass`. */
export interface Hook<D extends Decision = Decision> extends PhaseFunctions<D> {
  /** Unique among the hooks. */
  readonly name: string
  /** 0 to 99: security; 100 to 199: observability; 200 to 299: business; 300 and more: cosmetic. Default 200. */
  readonly priority?: number | undefined
  /**
   * The decisions that the hook may make, beside `pass`. Hooks that `rewrite` or `inject` run first; the others judge the
   * result. Default: `block`. Give a list by phase if they differ; in a phase without a list the hook decides nothing.
   */
  readonly decisions?: readonly D[] | DecisionsByPhase<D> | undefined
  /** Phases in which the hook only observes, so that agents need not support its decisions there. */
  readonly observeOnly?: readonly Phase[] | undefined
  /** The decision if the hook throws, times out or returns an invalid verdict. Default `pass`. */
  readonly onFailure?: 'pass' | 'block' | undefined
  /** The time limit in milliseconds. Default: the rest of the time of all hooks. */
  readonly timeLimitMillis?: number | undefined
}

/** Any hook, with any decisions. */
// biome-ignore lint/suspicious/noExplicitAny: what a hook decides is checked where it is defined, and again when it answers
export type AnyHook = Hook<any> | Hook<never>

/** Defines a typed hook. A verdict that is missing in `decisions`, or that the phase does not support, does not compile. */
export function defineHook<const D extends Decision = 'block'>(
  hook: Omit<Hook<NoInfer<D>>, 'decisions'> &
    PhaseFunctions<NoInfer<D>> & { readonly decisions?: readonly D[] | DecisionsByPhase<D> },
): Hook<D> {
  return hook
}

export function decisionsIn({ decisions = ['block'], observeOnly }: AnyHook, phase: Phase): readonly Decision[] {
  if (observeOnly?.includes(phase) === true) return []
  return Array.isArray(decisions) ? decisions : ((decisions as DecisionsByPhase)[phase] ?? [])
}

export function transforms(hook: AnyHook, phase: Phase): boolean {
  return decisionsIn(hook, phase).some(decision => decision === 'rewrite' || decision === 'inject')
}

const masked = createRedactor({ enabled: true, patterns: [] })

/** One line of at most `limit` characters, with secrets masked: arguments and error messages may quote them. */
export function maskedLine(text: string, limit: number): string {
  return redactWithin({ text: oneLine(text), isCut: false }, limit, masked).text.slice(0, limit)
}
