import { isDeepStrictEqual } from 'node:util'
import { PHASES, type Phase } from './phases.ts'
import type { ToolArguments } from './tool-call.ts'
import type { AnyVerdict, Decision } from './verdict.ts'

const NONE: readonly string[] = Object.freeze([])
const TEXTS: { readonly [D in Decision]?: string } = { block: 'reason', ask: 'question', inject: 'text' }

/** Why an answer is none. */
export function troubleOf(verdict: AnyVerdict, phase: Phase, decides: ReadonlySet<Decision>): string | undefined {
  const decision: unknown = typeof verdict === 'object' && verdict !== null ? verdict.decision : undefined
  if (typeof decision !== 'string') return 'it returned what is no verdict'
  const word = decision as Decision
  if (!PHASES[phase].decisions.has(word))
    return `it decided "${decision.slice(0, 40)}", which is nothing that ${phase} can do`
  if (!decides.has(word)) return `it decided "${decision}", which its "decides" does not name`
  const key = TEXTS[word]
  const text = key === undefined ? '' : (verdict as unknown as Record<string, unknown>)[key]
  if (typeof text !== 'string' || (key !== undefined && text === '')) return `its "${decision}" has no ${key}`
  if (verdict.decision === 'inject' && verdict.role !== 'system' && verdict.role !== 'user')
    return 'its "inject" is neither for "system" nor for "user"'
  if (verdict.decision === 'retry' && !(verdict.delayMillis === undefined || verdict.delayMillis >= 0))
    return 'the delay of its "retry" is no number of milliseconds'
  return undefined
}

/** Keys of the arguments that are others now; of all else, what it is. */
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
