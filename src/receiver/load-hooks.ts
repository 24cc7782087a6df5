import type { ControlHooks } from '../guards/index.ts'
import type { Environment } from '../plugin/config/paths.ts'
import { hookProblems, resolveConfig } from '../plugin/config/resolve.ts'
import type { Decider, DeciderTrace } from './decider.ts'

/** A module that never finishes loading must not block events. */
const LOAD_MILLIS = 12_000

type Config = ReturnType<typeof resolveConfig>['config']

export interface HooksFound {
  readonly hooks: ControlHooks | undefined
  /** One line for each hook that is configured but missing. */
  readonly lines: readonly string[]
  /** Called when the hooks are no longer needed. */
  close(): void
}

export interface LoadOptions {
  readonly env: Environment
  readonly home: string
  /** Called once, before the receiver listens. Default: there are no hooks. */
  readonly loadHooks?: ((config: Config) => Promise<HooksFound | undefined>) | undefined
  readonly loadMillis?: number | undefined
}

export interface Deciders {
  deciderFor(trace: DeciderTrace): Decider
  close(): void
}

/** Undefined if there are no hooks. Their code is then not loaded, because a receiver is mostly idle. */
export async function decidersOf(options: LoadOptions, say: (line: string) => void): Promise<Deciders | undefined> {
  const { hooks, lines, close } = (await configured(options)) ?? NONE
  if (hooks === undefined && lines.length === 0) return undefined
  for (const line of lines) say(line)
  const isWhole = lines.length === 0
  if (!isWhole)
    say('hooks that act are missing, or may be: agents that are set up with --guards closed do nothing until then')
  const { Deciding } = await import('./deciding.ts')
  return { close, deciderFor: trace => new Deciding({ hooks, isWhole, trace, say }) }
}

const NONE: HooksFound = { hooks: undefined, lines: [], close: () => undefined }

async function configured({ env, home, loadHooks, loadMillis }: LoadOptions): Promise<HooksFound | undefined> {
  if (loadHooks === undefined) return undefined
  const resolution = resolveConfig({ env, home })
  const found = (await loadedInTime(() => loadHooks(resolution.config), loadMillis)) ?? NONE
  // An unreadable configuration may contain guards that the user relies on.
  return { ...found, lines: [...hookProblems(resolution), ...found.lines] }
}

async function loadedInTime(
  load: () => Promise<HooksFound | undefined>,
  loadMillis: number = LOAD_MILLIS,
): Promise<HooksFound | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<HooksFound>(resolve => {
    timer = setTimeout(resolve, loadMillis, { ...NONE, lines: [`hooks: they are not loaded after ${loadMillis} ms`] })
  })
  try {
    return await Promise.race([load(), late])
  } catch (error) {
    return {
      ...NONE,
      lines: [`hooks: they cannot be loaded: ${error instanceof Error ? error.message : String(error)}`],
    }
  } finally {
    clearTimeout(timer)
  }
}
