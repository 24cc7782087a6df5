import { stateDirectory } from '../plugin/config/paths.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import type { IndexSubject } from '../viewer/trace-index/local-index.ts'
import type { CommandIo } from './command.ts'
import type { TracesPlace } from './traces.ts'

/**
 * The traces to index, with prices for requests without a recorded cost: the user's, else the bundled list. `prices: false`
 * disables them.
 */
export function indexSubject({ kind, path }: TracesPlace, { env, home }: CommandIo): IndexSubject {
  const { config, sources } = resolveConfig({ env, home })
  const prices = sources.get('prices')?.from === 'default' ? { own: [] } : config.prices
  const traces =
    kind === 'local log' ? ({ kind: 'log', stateDirectory: stateDirectory(env, home) } as const) : { kind, path }
  return { ...traces, ...(prices !== undefined && { prices }) }
}
