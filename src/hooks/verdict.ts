/**
 * What a hook says. A value, never an exception: a `catch` on the way could eat that, and a cancellation would look like one.
 */

/** What there is to decide. What a phase cannot do is not in its type (`phases.ts`). */
export type Decision = 'pass' | 'block' | 'rewrite' | 'inject' | 'retry' | 'ask'

/** How something injected is said: as a part of the system prompt, or beside what the user says. */
export type InjectedRole = 'system' | 'user'

/** What every verdict may have. */
export interface Said {
  /** Handed on to the hooks behind, as `ctx.metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** No objection. It is never sent to a host as "allow", which would skip the question to the person. */
export interface Pass extends Said {
  /** Which of the six. */
  readonly decision: 'pass'
}

/** It does not happen. */
export interface Block extends Said {
  /** Which of the six. */
  readonly decision: 'block'
  /** For the model. */
  readonly reason: string
  /** For the person and the trace. */
  readonly detail?: string | undefined
}

/** It happens with another value. */
export interface Rewrite<Value> extends Said {
  /** Which of the six. */
  readonly decision: 'rewrite'
  /** In the place of what the event has. */
  readonly value: Value
}

/** Something is said to the model. */
export interface Inject extends Said {
  /** Which of the six. */
  readonly decision: 'inject'
  /** What is said. */
  readonly text: string
  /** As what. */
  readonly role: InjectedRole
}

/** It is done again. */
export interface Retry extends Said {
  /** Which of the six. */
  readonly decision: 'retry'
  /** For the model. */
  readonly feedback?: string | undefined
  /** How long to wait before it, in milliseconds. Default 0. */
  readonly delayMillis?: number | undefined
}

/** A person decides. */
export interface Ask extends Said {
  /** Which of the six. */
  readonly decision: 'ask'
  /** For the person. */
  readonly question: string
}

export type AnyVerdict<Value = unknown> = Pass | Block | Rewrite<Value> | Inject | Retry | Ask

const PASS: Pass = Object.freeze({ decision: 'pass' })

/** No objection; the same as to return nothing, but that it may hand on metadata. */
export function pass(said: Said = {}): Pass {
  return said.metadata === undefined ? PASS : Object.freeze({ decision: 'pass', metadata: said.metadata })
}

/** @param reason for the model; `detail` in `more` is for the person and the trace */
export function block(reason: string, more: Said & { readonly detail?: string } = {}): Block {
  return Object.freeze({ ...more, decision: 'block', reason })
}

/** @param value in the place of what the event has: the prompt, the arguments of the tool, its result, … */
export function rewrite<Value>(value: Value, said: Said = {}): Rewrite<Value> {
  return Object.freeze({ ...said, decision: 'rewrite', value })
}

/** `system` text changes what the model provider has cached: keep it the same for a turn, or say it as `user`. */
export function inject(text: string, role: InjectedRole = 'user', said: Said = {}): Inject {
  return Object.freeze({ ...said, decision: 'inject', text, role })
}

/** It is done again, three times at most. */
export function retry(more: Said & { readonly feedback?: string; readonly delayMillis?: number } = {}): Retry {
  return Object.freeze({ ...more, decision: 'retry' })
}

/** A person is asked about exactly what would run, behind all rewrites. */
export function ask(question: string, said: Said = {}): Ask {
  return Object.freeze({ ...said, decision: 'ask', question })
}
