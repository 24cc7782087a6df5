import { oneLine } from '../content/one-line.ts'
import { createHooks } from './create-hooks.ts'
import type { AnyHook } from './hook.ts'

/** What a file exports, checked hook by hook: one that is none costs no other. */
export interface ExportedHooks {
  readonly hooks: readonly AnyHook[]
  /** One each for what is no hook. */
  readonly troubles: readonly string[]
}

const NONE =
  'it exports no hook: a hook, a list of hooks, or a function of its options that returns either, as default, "hook" or "hooks"'
const MESSAGE_LIMIT = 300

/**
 * The hooks of a module.
 *
 * @param options handed to what it exports, where that is a function
 * @throws where it exports none; and whatever that function throws
 */
export async function hooksOf(module: unknown, options: unknown): Promise<ExportedHooks> {
  const { default: standard, hook, hooks } = module as Readonly<Record<string, unknown>>
  const exported = standard ?? hook ?? hooks
  const made: unknown = typeof exported === 'function' ? await exported(options) : exported
  const found = Array.isArray(made) ? made.flat() : [made]
  if (found.length === 0 || found.includes(undefined)) throw new TypeError(NONE)
  const troubles = found.map(troubleOf)
  return {
    hooks: found.filter((_, at) => troubles[at] === undefined) as AnyHook[],
    troubles: troubles.filter(trouble => trouble !== undefined),
  }
}

function troubleOf(hook: unknown): string | undefined {
  try {
    createHooks([hook as AnyHook])
    return undefined
  } catch (error) {
    return whatWentWrong(error).replace(/^createHooks: /, '')
  }
}

/** What was thrown, in one line. */
export function whatWentWrong(error: unknown): string {
  try {
    const { message } = error as { readonly message?: unknown }
    const said = oneLine(String(message ?? error)).slice(0, MESSAGE_LIMIT)
    // Node keeps the line to itself.
    return error instanceof SyntaxError ? `${said} (node --check says where)` : said
  } catch {
    return 'it threw what cannot be read'
  }
}
