import { hookProblems } from '../config/hook-problems.ts'
import type { Environment } from '../config/paths.ts'
import { resolveConfig } from '../config/resolve.ts'
import type { ControlHooks } from '../hooks/index.ts'
import type { Decider, DeciderTrace } from './decider.ts'

/** A module that never comes to an end must not keep events from being taken. */
const LOAD_MILLIS = 12_000

type Config = ReturnType<typeof resolveConfig>['config']

/** The hooks that act, as the person has configured them. */
export interface HooksFound {
  /** Undefined: there are none. */
  readonly hooks: ControlHooks | undefined
  /** One each for what should be there, and is not. */
  readonly lines: readonly string[]
  /** Nobody asks them any more. */
  close(): void
}

export interface LoadOptions {
  readonly env: Environment
  readonly home: string
  /** Asked once, before anybody is listened to. Default: there are no hooks. */
  readonly loadHooks?: ((config: Config) => Promise<HooksFound | undefined>) | undefined
  /** As long as that may take. */
  readonly loadMillis?: number | undefined
}

export interface Deciders {
  deciderFor(trace: DeciderTrace): Decider
  close(): void
}

/** Undefined where there are no hooks: then nothing of them is loaded, because a receiver mostly waits. */
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
  // Where the configuration cannot be understood, somebody may have wanted to be guarded.
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
