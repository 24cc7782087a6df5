import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stateHome } from '../../plugin/config/paths.ts'
import { humanAge } from '../../reading/human-figures.ts'
import { namespaceOf } from '../../reading/span-attributes.ts'
import { readTraceFile } from '../../reading/stored-span.ts'
import { listSegments } from '../../reading/trace-log.ts'
import { type CommandIo, inOneLine } from '../command.ts'
import { HOSTS, type HostRow, hostsHere } from '../init/hosts.ts'
import { packageFolder } from '../init/package-folder.ts'
import type { InitContext } from '../init/plan.ts'
import { type DoctorFinding, finding } from './finding.ts'

export interface AgentState {
  readonly name: string
  /** Its program or folder on this machine. `isSetUp`: it loads hookspan. `problem`: its configuration could not be read. */
  readonly sign: string | undefined
  readonly isSetUp: boolean
  readonly problem?: string
  /** Epoch milliseconds; undefined if the newest part of the trace log has none of its spans. */
  readonly lastSeenAt: number | undefined
}

/** The newest part of the trace log, which is read to find the agents seen last. A whole log takes seconds. */
const MAX_READ_BYTES = 33_554_432

export async function readAgents(io: CommandIo): Promise<readonly AgentState[]> {
  if (io.home === '') return []
  const places = { env: io.env, home: io.home, folder: packageFolder() }
  const context: InitContext = { ...places, freshToken: '', freshPort: () => Promise.resolve(0) }
  const signs = new Map(hostsHere(context).map(({ name, sign }) => [name, sign]))
  const seen = await readLastSeen(io)
  const names = [...new Set([...HOSTS.keys(), ...seen.keys()])]
  const agents = names.map(async (name): Promise<AgentState> => {
    const row = HOSTS.get(name)
    const setup = row === undefined ? { isSetUp: false } : await setupOf(row, context)
    return { name, sign: signs.get(name), lastSeenAt: seen.get(name), ...setup }
  })
  return (await Promise.all(agents)).filter(
    ({ sign, isSetUp, problem, lastSeenAt }) => isSetUp || [sign, problem, lastSeenAt].some(fact => fact !== undefined),
  )
}

/** An agent is set up if `init --undo` would have something to remove. Only plans it. */
async function setupOf(
  { setup, otherWay }: HostRow,
  context: InitContext,
): Promise<Pick<AgentState, 'isSetUp' | 'problem'>> {
  try {
    const plans = [await setup.undo(context), await otherWay?.undo(context)]
    return { isSetUp: plans.some(plan => plan !== undefined && plan.kind !== 'nothing') }
  } catch (error) {
    return { isSetUp: false, problem: inOneLine(error) }
  }
}

async function readLastSeen({ env, home }: CommandIo): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>()
  const directory = stateHome(env, home)
  if (directory === undefined) return seen
  try {
    let readBytes = 0
    for (const path of (await listSegments(join(directory, 'traces'))).reverse()) {
      readBytes += (await stat(path)).size
      if (readBytes > MAX_READ_BYTES && seen.size > 0) break
      await noteHosts(path, seen)
    }
  } catch {
    // The checks of the trace log report it.
  }
  return seen
}

async function noteHosts(path: string, seen: Map<string, number>): Promise<void> {
  for await (const entry of readTraceFile(path)) {
    for (const span of 'spans' in entry ? [...entry.running, ...entry.spans] : []) {
      const host = span.attributes[`${namespaceOf(span)}.host`]
      if (typeof host === 'string') seen.set(host, Math.max(seen.get(host) ?? 0, span.endAt))
    }
  }
}

export function checkAgents(agents: readonly AgentState[], now: number): readonly DoctorFinding[] {
  if (agents.length > 0) return agents.map(agent => agentFinding(agent, now))
  return [finding('note', 'Agents', 'none was found', 'for an agent of your own, see docs/hooks.md')]
}

function agentFinding({ name, sign, isSetUp, problem, lastSeenAt }: AgentState, now: number): DoctorFinding {
  const seen = lastSeenAt === undefined ? 'no trace of it yet' : `last seen ${humanAge(now - lastSeenAt)} ago`
  if (problem !== undefined) return finding('note', 'Agents', `${name}: cannot be checked: ${problem}`)
  if (isSetUp) {
    const remedy = lastSeenAt === undefined ? 'use it; restart it first if it was running' : undefined
    return finding('ok', 'Agents', `${name}: set up, ${seen}`, remedy)
  }
  if (sign === undefined) return finding('ok', 'Agents', `${name}: ${seen}`)
  return finding('note', 'Agents', `${name}: found (${sign}), not set up`, `run "npx hookspan init ${name}"`)
}

/** True if some agent can be expected in the viewer: it loads hookspan, or has used it. */
export function hasAgent(agents: readonly AgentState[]): boolean {
  return agents.some(({ isSetUp, lastSeenAt }) => isSetUp || lastSeenAt !== undefined)
}
