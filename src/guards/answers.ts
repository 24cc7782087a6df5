import { isDeepStrictEqual } from 'node:util'
import { textOf } from '../contract/foreign.ts'
import { frozenCopy, isPlain } from './frozen-copy.ts'
import { PHASES, type Phase } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'
import type { AnyVerdict, Decision, InjectedRole } from './verdict.ts'

const NONE: readonly string[] = Object.freeze([])

/** A hook's answer, read exactly once: a getter could return a different value the second time. */
export interface Answer {
  readonly decision: Decision
  /** For the model if blocked, the question of an ask, the feedback of a retry. */
  readonly reason: string | undefined
  readonly detail: string | undefined
  readonly delayMillis: number | undefined
  /** The new value of a rewrite, copied and frozen. */
  readonly value: unknown
  readonly text: string
  readonly role: InjectedRole
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

const NO_VERDICT = 'it returned what is no verdict'
const NOTHING_MORE = {
  reason: undefined,
  detail: undefined,
  delayMillis: undefined,
  value: undefined,
  text: '',
  role: 'user',
} as const

/** Parses a hook's answer. Returns the fault as a text if it is invalid. Throws if it cannot be read. */
export function answerOf(said: unknown, hook: string, phase: Phase, decides: ReadonlySet<Decision>): Answer | string {
  if (typeof said !== 'object' || said === null) return NO_VERDICT
  const verdict = said as { readonly [K in keyof AnyVerdict | keyof Answer | 'question' | 'feedback']?: unknown }
  const decision = verdict.decision as Decision
  if (typeof decision !== 'string') return NO_VERDICT
  if (!PHASES[phase].decisions.has(decision))
    return `it decided "${decision.slice(0, 40)}", which is nothing that ${phase} can do`
  if (!decides.has(decision)) return `it decided "${decision}", which its "decides" does not name`
  const handed = verdict.metadata
  if (handed !== undefined && !isPlain(handed)) return 'its metadata is no object'
  const metadata = frozenCopy(handed)
  switch (decision) {
    case 'pass':
      return { ...NOTHING_MORE, decision, metadata }
    case 'block': {
      // The intent to block is clear, so a missing reason must not let the call pass.
      const reason = textOf(verdict.reason) ?? `The hook ${hook} has blocked this.`
      return { ...NOTHING_MORE, decision, metadata, reason, detail: textOf(verdict.detail) }
    }
    case 'ask': {
      const reason = textOf(verdict.question) ?? `The hook ${hook} asks whether this may go on.`
      return { ...NOTHING_MORE, decision, metadata, reason }
    }
    case 'rewrite':
      return { ...NOTHING_MORE, decision, metadata, value: frozenCopy(verdict.value) }
    case 'inject': {
      const { text, role } = verdict
      if (typeof text !== 'string' || text === '') return 'its "inject" has no text'
      if (role !== 'system' && role !== 'user') return 'its "inject" is neither for "system" nor for "user"'
      return { ...NOTHING_MORE, decision, metadata, text, role }
    }
    case 'retry': {
      const { delayMillis } = verdict
      if (delayMillis !== undefined && !isDelay(delayMillis))
        return 'the delay of its "retry" is no number of milliseconds'
      return { ...NOTHING_MORE, decision, metadata, reason: textOf(verdict.feedback), delayMillis }
    }
  }
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** The argument keys that changed in `beforeTool`; in other phases, the name of the value. */
export function changedFields(phase: Phase, before: unknown, after: unknown): readonly string[] {
  if (isDeepStrictEqual(before, after)) return NONE
  if (phase === 'beforeTool') {
    const [old, now] = [before as ToolArguments, after as ToolArguments]
    const keys = new Set([...Object.keys(old), ...Object.keys(now)])
    return [...keys].filter(key => !isDeepStrictEqual(old[key], now[key]))
  }
  return [FIELDS[phase]]
}

const FIELDS: { readonly [P in Phase]: string } = {
  beforeTurn: 'prompt',
  afterTurn: 'answer',
  beforeModel: 'messages',
  afterModel: 'text',
  beforeTool: 'arguments',
  afterTool: 'result',
}
