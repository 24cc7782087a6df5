/** Verdicts are values, never exceptions: a `catch` on the way could swallow one, and a cancellation would look like one. */

/** All decisions. The types of a phase exclude those that it does not support (`phases.ts`). */
export type Decision = 'pass' | 'block' | 'rewrite' | 'inject' | 'retry' | 'ask'

/** The role of injected text: part of the system prompt, or beside the user's message. */
export type InjectedRole = 'system' | 'user'

/** Properties common to all verdicts. */
export interface VerdictBase {
  /** Passed to later hooks as `ctx.metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

interface VerdictOf<D extends Decision> extends VerdictBase {
  /** The discriminant. */
  readonly decision: D
}

/** No objection. Never sent to a host as "allow", which would skip the host's own question to the user. */
export interface Pass extends VerdictOf<'pass'> {}

/** Prevents the operation. */
export interface Block extends VerdictOf<'block'> {
  /** For the model. */
  readonly reason: string
  /** For the user and the trace. */
  readonly detail?: string | undefined
}

/** Continues with another value. */
export interface Rewrite<Value> extends VerdictOf<'rewrite'> {
  /** The new value. */
  readonly value: Value
}

/** Adds text for the model. */
export interface Inject extends VerdictOf<'inject'> {
  /** The text. */
  readonly text: string
  /** The role of the text. */
  readonly role: InjectedRole
}

/** Repeats the operation. */
export interface Retry extends VerdictOf<'retry'> {
  /** For the model. */
  readonly feedback?: string | undefined
  /** The delay before the retry, in milliseconds. Default 0. */
  readonly delayMillis?: number | undefined
}

/** Leaves the decision to the user. */
export interface Ask extends VerdictOf<'ask'> {
  /** For the user. */
  readonly question: string
}

export type AnyVerdict<Value = unknown> = Pass | Block | Rewrite<Value> | Inject | Retry | Ask

const PASS: Pass = Object.freeze({ decision: 'pass' })

/** No objection. Equivalent to returning nothing, but can carry metadata. */
export function pass(base: VerdictBase = {}): Pass {
  return base.metadata === undefined ? PASS : Object.freeze({ decision: 'pass', metadata: base.metadata })
}

/** Prevents the operation. @param reason for the model; `detail` in `more` is for the user and the trace */
export function block(reason: string, more: VerdictBase & { readonly detail?: string } = {}): Block {
  return Object.freeze({ ...more, decision: 'block', reason })
}

/** Continues with another value. @param value the new prompt, tool arguments, tool result, … */
export function rewrite<Value>(value: Value, base: VerdictBase = {}): Rewrite<Value> {
  return Object.freeze({ ...base, decision: 'rewrite', value })
}

/**
 * Adds text for the model. `system` text changes the prompt that the provider has cached: keep it constant for a turn, or use
 * `user`.
 */
export function inject(text: string, role: InjectedRole = 'user', base: VerdictBase = {}): Inject {
  return Object.freeze({ ...base, decision: 'inject', text, role })
}

/** Repeats the operation, three times at most. */
export function retry(more: VerdictBase & { readonly feedback?: string; readonly delayMillis?: number } = {}): Retry {
  return Object.freeze({ ...more, decision: 'retry' })
}

/** Asks the user about the final call, after all rewrites. */
export function ask(question: string, base: VerdictBase = {}): Ask {
  return Object.freeze({ ...base, decision: 'ask', question })
}
