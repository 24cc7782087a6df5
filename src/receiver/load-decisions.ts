import { inTime } from '../guards/in-time.ts'
import type { ControlHooks } from '../guards/index.ts'
import type { Environment } from '../plugin/config/paths.ts'
import { hookProblems, resolveConfig } from '../plugin/config/resolve.ts'
import type { DecisionMaker, DecisionTrace } from './hook-decisions.ts'

/** A module that never finishes loading must not block events. */
const LOAD_MILLIS = 12_000

type Config = ReturnType<typeof resolveConfig>['config']

export interface LoadedHookSet {
  readonly hooks: ControlHooks | undefined
  /** One line for each hook that is configured but missing. */
  readonly lines: readonly string[]
  close(): void
}

export interface HookLoadOptions {
  readonly env: Environment
  readonly home: string
  readonly loadHooks?: ((config: Config) => Promise<LoadedHookSet | undefined>) | undefined
  readonly loadMillis?: number | undefined
}

export interface DecisionMakers {
  deciderFor(trace: DecisionTrace): DecisionMaker
  close(): void
}

/** Undefined if there are no hooks. Their code is then not loaded, because a receiver is mostly idle. */
export async function loadDecisionMakers(
  options: HookLoadOptions,
  say: (line: string) => void,
): Promise<DecisionMakers | undefined> {
  const { hooks, lines, close } = (await loadConfigured(options)) ?? NONE
  if (hooks === undefined && lines.length === 0) return undefined
  for (const line of lines) say(line)
  const isComplete = lines.length === 0
  if (!isComplete)
    say('guards are missing, or may be: agents that are set up with --guards closed do nothing until then')
  const { HookDecisions } = await import('./hook-decisions.ts')
  return { close, deciderFor: trace => new HookDecisions({ hooks, isComplete, trace, report: say }) }
}

const NONE: LoadedHookSet = { hooks: undefined, lines: [], close: () => undefined }

async function loadConfigured({
  env,
  home,
  loadHooks,
  loadMillis,
}: HookLoadOptions): Promise<LoadedHookSet | undefined> {
  if (loadHooks === undefined) return undefined
  const resolution = resolveConfig({ env, home })
  const found = (await loadedInTime(() => loadHooks(resolution.config), loadMillis)) ?? NONE
  // An unreadable configuration may contain guards that the user relies on.
  return { ...found, lines: [...hookProblems(resolution), ...found.lines] }
}

async function loadedInTime(
  load: () => Promise<LoadedHookSet | undefined>,
  loadMillis: number = LOAD_MILLIS,
): Promise<LoadedHookSet | undefined> {
  try {
    const found = await inTime(load(), loadMillis)
    return typeof found === 'symbol' ? withoutHooks(`they are not loaded after ${loadMillis} ms`) : found
  } catch (error) {
    return withoutHooks(`they cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function withoutHooks(why: string): LoadedHookSet {
  return { ...NONE, lines: [`hooks: ${why}`] }
}
