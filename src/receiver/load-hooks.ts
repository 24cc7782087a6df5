import type { Environment } from '../config/paths.ts'
import { resolveConfig } from '../config/resolve.ts'
import type { ControlHooks } from '../hooks/index.ts'
import type { Decider, DeciderTrace } from './decider.ts'

/** A module that never comes to an end must not keep events from being taken. */
const LOAD_MILLIS = 5000

type Config = ReturnType<typeof resolveConfig>['config']

/** The hooks that act, as the person has configured them; undefined where there are none. A rejection says in one line why not. */
export type LoadHooks = (config: Config) => Promise<ControlHooks | undefined>

export interface LoadOptions {
  readonly env: Environment
  readonly home: string
  /** Asked once, before anybody is listened to. Default: there are no hooks. */
  readonly loadHooks?: LoadHooks | undefined
  /** As long as it may take. */
  readonly loadMillis?: number | undefined
}

type Loaded = { readonly hooks: ControlHooks | undefined } | { readonly trouble: string }

/** Undefined where there are no hooks: then nothing of them is loaded, because a receiver mostly waits. */
export async function deciders(
  { env, home, loadHooks, loadMillis = LOAD_MILLIS }: LoadOptions,
  say: (line: string) => void,
): Promise<((trace: DeciderTrace) => Decider) | undefined> {
  if (loadHooks === undefined) return undefined
  const loaded = await inTime(() => loadHooks(resolveConfig({ env, home }).config), loadMillis)
  if ('hooks' in loaded && loaded.hooks === undefined) return undefined
  if ('trouble' in loaded) {
    say(
      `no hook acts, because they cannot be loaded: ${loaded.trouble}; agents that are set up closed do nothing until then`,
    )
  }
  const hooks = 'hooks' in loaded ? loaded.hooks : undefined
  const { Deciding } = await import('./deciding.ts')
  return trace => new Deciding({ hooks, trace, say })
}

async function inTime(load: () => Promise<ControlHooks | undefined>, millis: number): Promise<Loaded> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Loaded>(resolve => {
    timer = setTimeout(resolve, millis, { trouble: `they are not there after ${millis / 1000} s` })
  })
  try {
    return await Promise.race([load().then(hooks => ({ hooks })), late])
  } catch (error) {
    return { trouble: error instanceof Error ? error.message : String(error) }
  } finally {
    clearTimeout(timer)
  }
}
