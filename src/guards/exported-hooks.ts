import { oneLine } from '../content/one-line.ts'
import { ignoreErrors } from '../contract/foreign.ts'
import { createHooks } from './create-hooks.ts'
import type { AnyHook } from './hook.ts'

/** The exports of a file, checked one by one: an invalid hook does not cost the valid ones. */
export interface ExportedHooks {
  readonly hooks: readonly AnyHook[]
  readonly problems: readonly string[]
}

const NONE =
  'it exports no hook: a hook, a list of hooks, or a function of its options that returns either, as default, "hook" or "hooks"'
const MESSAGE_LIMIT = 300

export async function exportedHooks(module: unknown, options: unknown): Promise<ExportedHooks> {
  const { default: standard, hook, hooks } = module as Readonly<Record<string, unknown>>
  const exported = standard ?? hook ?? hooks
  const made: unknown = typeof exported === 'function' ? await exported(options) : exported
  const found = Array.isArray(made) ? made.flat() : [made]
  if (found.length === 0 || found.includes(undefined)) throw new TypeError(NONE)
  const troubles = found.map(problemOf)
  return {
    hooks: found.filter((_, at) => troubles[at] === undefined) as AnyHook[],
    problems: troubles.filter(trouble => trouble !== undefined),
  }
}

function problemOf(hook: unknown): string | undefined {
  try {
    createHooks([hook as AnyHook])
    return undefined
  } catch (error) {
    return errorLine(error).replace(/^createHooks: /, '')
  }
}

export function errorLine(error: unknown): string {
  const line = ignoreErrors(() => {
    const { message } = error as { readonly message?: unknown }
    const text = oneLine(String(message ?? error)).slice(0, MESSAGE_LIMIT)
    // Node does not put the line number into the message of a SyntaxError.
    return error instanceof SyntaxError ? `${text} (node --check says where)` : text
  })
  return line ?? 'it threw an unreadable error'
}
