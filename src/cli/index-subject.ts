import { stateDirectory } from '../plugin/config/paths.ts'
import type { IndexSubject } from '../viewer/trace-index/local-index.ts'
import type { CommandIo } from './command.ts'
import { readPrices } from './prices.ts'
import type { TracesPlace } from './traces.ts'

export function indexSubject({ kind, path }: TracesPlace, { env, home }: CommandIo): IndexSubject {
  const prices = readPrices({ env, home })
  const traces =
    kind === 'local log' ? ({ kind: 'log', stateDirectory: stateDirectory(env, home) } as const) : { kind, path }
  return { ...traces, ...(prices !== undefined && { prices }) }
}
