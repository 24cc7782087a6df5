import { BACKEND_TYPES } from '../../delivery/backends/rows.ts'
import { type BackendPlan, destinationOf, planBackend } from '../../delivery/pipeline/backend-plan.ts'
import { pendingDestinations } from '../../delivery/trace-log/index.ts'
import { nearestName } from '../../plugin/config/nearest.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import type { BackendConfig, ResolvedConfig } from '../../plugin/config/types.ts'
import { checkBackends } from '../backend-option.ts'
import { type CommandIo, WrongUse } from '../command.ts'

/**
 * The chosen backends: configured ones by name, others in short form (`TYPE`, `TYPE=URL`), or all configured ones if none is
 * named.
 *
 * @throws WrongUse for an unknown name or type
 */
export async function chosenBackends(
  values: readonly string[],
  config: ResolvedConfig,
  directory: string,
  io: CommandIo,
): Promise<readonly BackendConfig[]> {
  if (values.length === 0) return config.backends.filter(({ type }) => type !== 'console')
  const chosen = new Map<string, BackendConfig>()
  for (const value of values) {
    const backend = await chosenBackend(value, config, directory, io)
    if (backend.type === 'console') throw new WrongUse('console is the terminal of an agent; hookspan tree draws here')
    chosen.set(backend.name, backend)
  }
  return [...chosen.values()]
}

async function chosenBackend(
  value: string,
  config: ResolvedConfig,
  directory: string,
  io: CommandIo,
): Promise<BackendConfig> {
  const named = config.backends.find(({ name }) => name === value)
  if (named !== undefined) return named
  expectKnown(value, config)
  checkBackends([value])
  const [backend] = resolveConfig({ code: { backends: [value] }, env: io.env, home: io.home }).config.backends
  if (backend === undefined) throw new WrongUse(`--backend ${JSON.stringify(value)} cannot be read`)
  const plan = planOf(backend)
  // An unusable backend is reported when it is opened.
  if (plan === undefined) return backend
  return config.backends.find(other => isSame(plan, planOf(other))) ?? ownName(backend, plan, directory)
}

/** Rejects a word that is neither a known name nor a known type. */
function expectKnown(value: string, config: ResolvedConfig): void {
  const types: readonly string[] = BACKEND_TYPES
  if (!/^[\w.-]+$/.test(value) || types.includes(value.toLowerCase())) return
  const names = config.backends.map(({ name }) => name)
  const meant = nearestName(value, [...names, ...types])
  const configured = names.length === 0 ? 'none is configured' : `configured: ${names.join(', ')}`
  const advice = meant === undefined ? `${configured}; any other is named TYPE=URL` : `did you mean ${meant}?`
  throw new WrongUse(`there is no backend ${JSON.stringify(value)}; ${advice}`)
}

function planOf(backend: BackendConfig): BackendPlan | undefined {
  const planned = planBackend(backend)
  return planned.ok ? planned.plan : undefined
}

function isSame(plan: BackendPlan, other: BackendPlan | undefined): boolean {
  if (other === undefined || other.settings.type !== plan.settings.type) return false
  const as = (name: string): BackendPlan => ({ ...other, settings: { ...other.settings, name } })
  return destinationOf(as(plan.settings.name)) === destinationOf(plan)
}

/** Renames the backend if pending spans under its name are for another address. */
async function ownName(backend: BackendConfig, plan: BackendPlan, directory: string): Promise<BackendConfig> {
  const meant = await pendingDestinations(directory, backend.name)
  const isForOthers = [...meant].some(destination => destination !== destinationOf(plan))
  const place = URL.canParse(plan.urls.traces ?? '') ? new URL(plan.urls.traces ?? '').host : plan.options['path']
  return isForOthers ? { ...backend, name: `${backend.name}@${place}` } : backend
}
