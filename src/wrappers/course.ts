import { idOf, peek } from '../contract/foreign.ts'
import type { HookName, HookPayloads } from '../contract/index.ts'
import type { TurnIds } from './handles.ts'

export type Emit = <Name extends HookName>(hook: Name, payload: HookPayloads[Name]) => unknown

/** What all spans of a turn share. */
export interface Course {
  readonly emit: Emit
  readonly ids: TurnIds
  /** The ordinal of each request by its id, so that a retry has that of its request. */
  readonly requests: Map<string, number>
  /** How many tools and questions have got an id from us. */
  made: number
}

/** The id that the user gave, or else one that is made. */
export function idIn(options: unknown, key: string, make: () => string): string {
  return idOf(peek(options, key)) ?? make()
}

/** An id that is unique as long as the turn's is. */
export function madeId(course: Course): string {
  course.made += 1
  return `${course.ids.turn_id}:${course.made}`
}

/** What the user said, under our ids. Where it cannot be read, the span is still there. */
export function merged<Said, Ids extends object>(said: Said, ids: Ids): Said & Ids {
  try {
    return { ...said, ...ids }
  } catch {
    return ids as Said & Ids
  }
}

/** Some of the fields, where there is something in them. */
export function picked<Said, Key extends keyof Said & string>(said: Said, keys: readonly Key[]): Pick<Said, Key> {
  const found: Record<string, unknown> = {}
  for (const key of keys) {
    const value = peek(said, key)
    if (value !== undefined) found[key] = value
  }
  return found as Pick<Said, Key>
}

/** Only the first end of a span is told. */
export function once<Said>(tell: (said: Said) => void): (said: Said) => void {
  let isTold = false
  return said => {
    if (isTold) return
    isTold = true
    tell(said)
  }
}
