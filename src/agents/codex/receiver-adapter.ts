import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, agentFolders, openAgentFile } from '../base/agent-file.ts'
import type { FindingOwner, FindingsEnd } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { READS_FIRST } from './events.ts'
import { type PendingFinding, RolloutLines } from './rollout-lines.ts'

/** A rollout lags behind the hooks by some milliseconds. The end of a turn is written after its hooks. */
const PATIENCE_MILLIS = 500
const LOOK_MILLIS = 20
const FILES_LIMIT = 200
const ROLLOUT = /(?:^|[/\\])rollout-[^/\\]+\.jsonl$/
const ENDS: ReadonlySet<string> = new Set(['Stop', 'SubagentStop', 'Interrupt', 'SessionEnd'])

interface ReadTrigger {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly turnId: string | undefined
  readonly agentId: string | undefined
}

export class CodexAdapter implements ReceiverAdapter {
  readonly #environment: AdapterEnvironment
  readonly #rollouts = new LimitedMap<string, RolloutFile>(FILES_LIMIT)

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    return event === undefined || event.startsWith('rollout:') ? [] : [{ event, at, data: body }]
  }

  async enrich({ event, data, at = Number.POSITIVE_INFINITY }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const trigger = { event, at, data, turnId: idOf(peek(data, 'turn_id')), agentId: idOf(peek(data, 'agent_id')) }
    if (event === 'SubagentStart') return [...(await this.#readParents(session_id, trigger)), readEnd({ session_id })]
    // The end of a child names both files.
    const path = textOf(peek(data, 'agent_transcript_path')) ?? textOf(peek(data, 'transcript_path'))
    if (path === undefined || !ROLLOUT.test(path)) return [readEnd({ session_id })]
    const owner = { session_id, agent_id: trigger.agentId }
    const rollout = this.#rollouts.recall(path, () => new RolloutFile(path, owner))
    await this.#read([rollout], trigger)
    const goesOn = hasContinued(rollout.lines, trigger)
    const found = rollout.lines.drainFindings(at, found => ENDS.has(event) && !goesOn && isEndOf(found, trigger))
    const { repository, branch } = rollout.lines
    return [...found, readEnd({ session_id, goes_on: goesOn || undefined, repository, branch })]
  }

  /** Reads the parents' rollouts: only they record which call started the child. */
  async #readParents(session_id: string, trigger: ReadTrigger): Promise<readonly HostEvent[]> {
    const parents = [...this.#rollouts.values()].filter(({ owner }) => owner.session_id === session_id)
    await this.#read(parents, trigger)
    return parents.flatMap(({ lines }) => lines.drainFindings(trigger.at, found => isStartOf(found, trigger)))
  }

  async #read(rollouts: readonly RolloutFile[], trigger: ReadTrigger): Promise<void> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const readable = rollouts.map(rollout => rollout.read(this.#environment.place).catch(() => false))
      const isThere = (await Promise.all(readable)).includes(true)
      if (!isThere || rollouts.some(({ lines }) => isEnough(lines, trigger)) || waited >= PATIENCE_MILLIS) return
      await this.#environment.wait(LOOK_MILLIS)
    }
  }
}

function readEnd(data: FindingsEnd): HostEvent {
  return { event: 'rollout:read', data }
}

function isEnough(lines: RolloutLines, trigger: ReadTrigger): boolean {
  const { event, data, turnId, agentId } = trigger
  if (event === 'SubagentStart') return agentId === undefined || lines.hasStartedAgent(agentId)
  if (event === 'PreToolUse') return lines.knowsCall(turnId, idOf(peek(data, 'tool_use_id')) ?? '')
  return !ENDS.has(event) || lines.hasEnded(turnId) || hasContinued(lines, trigger)
}

function isEndOf({ turn, begunAt, event }: PendingFinding, { turnId, at }: ReadTrigger): boolean {
  return event.event === 'rollout:over' && (turnId === undefined ? begunAt <= at : turn === turnId)
}

function isStartOf({ event }: PendingFinding, { agentId }: ReadTrigger): boolean {
  const agents = elementsOf(peek(event.data, 'agents'), Infinity)
  return event.event === 'rollout:item' && agents.some(agent => peek(agent, 'id') === agentId)
}

function hasContinued(lines: RolloutLines, { event, at, data, turnId }: ReadTrigger): boolean {
  const answer = textOf(peek(data, 'last_assistant_message'))
  return (
    (event === 'Stop' || event === 'SubagentStop') && answer !== undefined && lines.hasContinued(turnId, answer, at)
  )
}

class RolloutFile {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly owner: FindingOwner
  readonly lines: RolloutLines

  constructor(path: string, owner: FindingOwner) {
    this.#path = path
    this.owner = owner
    this.lines = new RolloutLines(owner)
  }

  read(place: AgentFolders): Promise<boolean> {
    return this.#reader.readFrom(
      openAgentFile(this.#path, place, 'sessions'),
      line => this.lines.readLine(line),
      () => this.lines.resetTurn(),
    )
  }
}

export const codex: ReceiverAdapter = new CodexAdapter({
  place: agentFolders(['CODEX_HOME'], '.codex'),
  wait: sleep,
})
