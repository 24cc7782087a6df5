import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { agentFolders } from './agent-file.ts'
import { plausibleTime, timestampOf } from './event-machine.ts'
import type { FindingOwner } from './findings.ts'

/** A hook for which the agent's files are read. `path`: the file that the hook names. */
export interface ReadTrigger {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly owner: FindingOwner
  readonly path: string | undefined
}

export interface Findings {
  readonly found: readonly HostEvent[]
  /** A hook of another program made the agent go on after a stop. */
  readonly goes_on?: boolean | undefined
  readonly repository?: string | undefined
  readonly branch?: string | undefined
}

const LOOK_MILLIS = 20

/** The folders of this user's agent, as for `agentFolders`, and real time. */
export function ownEnvironment(...folders: Parameters<typeof agentFolders>): AdapterEnvironment {
  const wait: AdapterEnvironment['wait'] = (millis, signal) =>
    sleep(millis, undefined, { signal }).catch(() => undefined)
  return { place: agentFolders(...folders), wait }
}

/**
 * Calls `look` until it returns true. The wait does not delay the agent.
 *
 * @param patienceMillis evaluated after each look
 * @returns false if the wait was in vain
 */
export async function pollUntil(
  look: () => Promise<boolean>,
  patienceMillis: () => number,
  { wait }: AdapterEnvironment,
): Promise<boolean> {
  for (let waited = 0; ; waited += LOOK_MILLIS) {
    if (await look()) return true
    if (waited >= patienceMillis()) return false
    await wait(LOOK_MILLIS)
  }
}

/** Receives the hooks of an agent and reads, before some of them, what its files add: findings whose names have a prefix. */
export abstract class FileAdapter implements ReceiverAdapter {
  protected abstract readonly prefix: string
  protected abstract readonly readsFirst: ReadonlySet<string>
  protected readonly environment: AdapterEnvironment

  constructor(environment: AdapterEnvironment) {
    this.environment = environment
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith(this.prefix)) return []
    // Prefers the hook's own timestamp, if any: the time of receipt is that of the forwarding process's end.
    return [{ event, at: plausibleTime(timestampOf(body), at), data: body }]
  }

  async enrich({ event, at = Number.POSITIVE_INFINITY, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (session_id === undefined || !this.isReadFirst(event, data)) return []
    const owner = { session_id, agent_id: idOf(peek(data, 'agent_id')) }
    const path = textOf(peek(data, 'transcript_path'))
    const findings = await this.read({ event, at, data, owner, path }).catch(() => undefined)
    const { found = [], ...end } = findings ?? {}
    return [...found, { event: `${this.prefix}read`, data: { session_id, ...end } }]
  }

  protected isReadFirst(event: string, _data: unknown): boolean {
    return this.readsFirst.has(event)
  }

  protected abstract read(trigger: ReadTrigger): Promise<Findings | undefined>
}
