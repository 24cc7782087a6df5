import { idOf, peek } from '../../contract/foreign.ts'
import type { HookName, HookPayloads } from '../../contract/index.ts'
import type { TurnIds } from './handles.ts'

export type Emit = <Name extends HookName>(hook: Name, payload: HookPayloads[Name]) => unknown

export interface Course {
  readonly emit: Emit
  readonly ids: TurnIds
  /** The ordinal of each request by its id, so that a retry has the ordinal of its request. */
  readonly requests: Map<string, number>
  made: number
}

export function idIn(options: unknown, key: string, make: () => string): string {
  return idOf(peek(options, key)) ?? make()
}

/** Generates an id that is unique if the turn's id is. */
export function madeId(course: Course): string {
  course.made += 1
  return `${course.ids.turn_id}:${course.made}`
}

/** The user's fields, overwritten by our ids. If the fields cannot be read, the span is still recorded. */
export function merged<Said, Ids extends object>(said: Said, ids: Ids): Said & Ids {
  try {
    return { ...said, ...ids }
  } catch {
    return ids as Said & Ids
  }
}

export function picked<Said, Key extends keyof Said & string>(said: Said, keys: readonly Key[]): Pick<Said, Key> {
  const found: Record<string, unknown> = {}
  for (const key of keys) {
    const value = peek(said, key)
    if (value !== undefined) found[key] = value
  }
  return found as Pick<Said, Key>
}

/** Emits only the first end of a span. */
export function once<Said>(tell: (said: Said) => void): (said: Said) => void {
  let isTold = false
  return said => {
    if (isTold) return
    isTold = true
    tell(said)
  }
}
