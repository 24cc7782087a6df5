import { TurnState } from '../context.ts'
import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { block } from '../verdict.ts'
import { type BuiltinOptions, COUNT, checkOptions, propertiesOf } from './options.ts'

/** Options of `loopGuard`. */
export interface LoopGuardOptions extends BuiltinOptions {
  /** The number of identical calls allowed; the next one is blocked. Default 3. */
  readonly repeats?: number | undefined
  /** The number of most recent calls of the turn to compare, including the current one. Default 20. */
  readonly within?: number | undefined
}

/**
 * Blocks identical calls (same tool, same arguments in any order) that repeat within a turn. Calls are counted before they run,
 * also if blocked. A repeated check of the same call counts once.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function loopGuard(options: LoopGuardOptions = {}): Hook<'block'> {
  checkOptions('loopGuard', options, { repeats: COUNT, within: COUNT })
  const { repeats = 3, within = 20 } = options
  if (within <= repeats) throw new TypeError('loopGuard: within is more than repeats')
  const turns = new TurnState((): { readonly key: string; readonly id: string | undefined }[] => [])
  return defineHook({
    ...propertiesOf(options, 'loop-guard', PRIORITY.business, 'pass'),
    beforeTool({ tool }, ctx) {
      const calls = turns.of(ctx)
      const key = `${tool.name} ${canonicalJson(tool.arguments)}`
      const isKnown = tool.id !== undefined && calls.some(({ id }) => id === tool.id)
      if (!isKnown) calls.push({ key, id: tool.id })
      if (calls.length > within) calls.shift()
      const times = calls.filter(call => call.key === key).length
      if (times <= repeats) return undefined
      return block(
        `${tool.name} has been called with the same arguments ${times} times. It will not come to anything else: take another way, or say what is in the way.`,
        { detail: `${times} times within ${calls.length} calls` },
      )
    },
  })
}

function canonicalJson(value: unknown, open: Set<object> = new Set()): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  if (open.has(value)) return '"…"'
  open.add(value)
  const text = Array.isArray(value)
    ? `[${value.map(each => canonicalJson(each, open)).join()}]`
    : `{${Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, each]) => `${JSON.stringify(key)}:${canonicalJson(each, open)}`)
        .join()}}`
  open.delete(value)
  return text
}
