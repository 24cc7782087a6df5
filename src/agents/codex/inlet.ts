import { homedir } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import type { Found } from './found-events.ts'
import { RolloutLines } from './rollout-lines.ts'
import { type ItemFound, READS_FIRST, type ReadOver } from './types.ts'

/** A rollout lags behind the hooks by some milliseconds. The end of a turn is written after its hooks. */
const PATIENCE_MILLIS = 500
const LOOK_MILLIS = 20
const FILES_LIMIT = 200
const ROLLOUT = /(?:^|[/\\])rollout-[^/\\]+\.jsonl$/
/** Hooks at the end of turns, which fire before the rollout records the end. */
const ENDS: ReadonlySet<string> = new Set(['Stop', 'SubagentStop', 'Interrupt', 'SessionEnd'])

/** A hook that triggers reading the rollout. */
interface Occasion {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly turnId: string | undefined
  readonly agentId: string | undefined
}

class CodexInlet implements ReceiverAdapter {
  readonly #world: AdapterEnvironment
  readonly #rollouts = new LimitedMap<string, Rollout>(FILES_LIMIT)

  constructor(world: AdapterEnvironment) {
    this.#world = world
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    return event === undefined || event.startsWith('rollout:') ? [] : [{ event, at, data: body }]
  }

  async enrich({ event, data, at = Number.POSITIVE_INFINITY }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const occasion = { event, at, data, turnId: idOf(peek(data, 'turn_id')), agentId: idOf(peek(data, 'agent_id')) }
    if (event === 'SubagentStart') return [...(await this.#ofParent(session_id, occasion)), over({ session_id })]
    // The end of a child names both files.
    const path = textOf(peek(data, 'agent_transcript_path')) ?? textOf(peek(data, 'transcript_path'))
    if (path === undefined || !ROLLOUT.test(path)) return [over({ session_id })]
    const rollout = this.#rolloutOf(path, { session_id, agent_id: occasion.agentId })
    await this.#read([rollout], occasion)
    const goesOn = hasGoneOn(rollout.lines, occasion)
    const found = rollout.lines.found.take(at, found => ENDS.has(event) && !goesOn && isEndOf(found, occasion))
    return [...found, over({ session_id, goes_on: goesOn || undefined })]
  }

  /** Reads the parents' rollouts: only they record which call started the child. */
  async #ofParent(session_id: string, occasion: Occasion): Promise<readonly HostEvent[]> {
    const parents = [...this.#rollouts.values()].filter(({ about }) => about.session_id === session_id)
    await this.#read(parents, occasion)
    return parents.flatMap(({ lines }) => lines.found.take(occasion.at, found => isStartOf(found, occasion)))
  }

  #rolloutOf(path: string, about: ConstructorParameters<typeof RolloutLines>[0]): Rollout {
    const known = this.#rollouts.get(path) ?? new Rollout(path, about)
    this.#rollouts.delete(path)
    this.#rollouts.set(path, known)
    return known
  }

  /** Reads until everything that precedes this hook is there, or until the timeout. */
  async #read(rollouts: readonly Rollout[], occasion: Occasion): Promise<void> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      // Unreadable files are skipped.
      const readable = rollouts.map(rollout => rollout.read(this.#world.place).catch(() => false))
      const isThere = (await Promise.all(readable)).includes(true)
      if (!isThere || rollouts.some(({ lines }) => isEnough(lines, occasion)) || waited >= PATIENCE_MILLIS) return
      await this.#world.wait(LOOK_MILLIS)
    }
  }
}

function over(data: ReadOver): HostEvent {
  return { event: 'rollout:read', data }
}

function isEnough(lines: RolloutLines, occasion: Occasion): boolean {
  const { event, data, turnId, agentId } = occasion
  if (event === 'SubagentStart') return agentId === undefined || lines.hasStarted(agentId)
  if (event === 'PreToolUse') return lines.knowsCall(turnId, idOf(peek(data, 'tool_use_id')) ?? '')
  return !ENDS.has(event) || lines.isOver(turnId) || hasGoneOn(lines, occasion)
}

/** Returns true for the end of the hook's turn, which is written after the hook. */
function isEndOf({ turn, begunAt, event }: Found, { turnId, at }: Occasion): boolean {
  return event.event === 'rollout:over' && (turnId === undefined ? begunAt <= at : turn === turnId)
}

function isStartOf({ event }: Found, { agentId }: Occasion): boolean {
  return event.event === 'rollout:item' && (event.data as ItemFound).agents?.some(({ id }) => id === agentId) === true
}

/** Returns true if a hook of another program kept the agent from stopping. */
function hasGoneOn(lines: RolloutLines, { event, at, data, turnId }: Occasion): boolean {
  const answer = textOf(peek(data, 'last_assistant_message'))
  return (event === 'Stop' || event === 'SubagentStop') && answer !== undefined && lines.hasGoneOn(turnId, answer, at)
}

class Rollout {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly about: ConstructorParameters<typeof RolloutLines>[0]
  readonly lines: RolloutLines

  constructor(path: string, about: ConstructorParameters<typeof RolloutLines>[0]) {
    this.#path = path
    this.about = about
    this.lines = new RolloutLines(about)
  }

  /** @returns true if the file exists and may be read */
  async read(place: AgentFolders): Promise<boolean> {
    const file = await openAgentFile(this.#path, place, 'sessions')
    if (file === undefined) return false
    try {
      await this.#reader.readNewLines(
        file,
        line => this.lines.line(line),
        () => this.lines.restart(),
      )
      return true
    } finally {
      await file.close()
    }
  }
}

/** Returns the folders of Codex, which contain rollouts below `sessions`. @param env environment of the reading process */
function ownPlace(env: Readonly<Record<string, string | undefined>>): AgentFolders {
  const own = env['CODEX_HOME']?.trim() ?? ''
  const homes = [join(homedir(), '.codex'), ...(isAbsolute(own) ? [own] : [])]
  return { folders: homes.map(home => normalize(home)), uid: process.getuid?.() }
}

export function createCodexInlet(world: AdapterEnvironment): ReceiverAdapter {
  return new CodexInlet(world)
}

export const codex: ReceiverAdapter = createCodexInlet({ place: ownPlace(process.env), wait: sleep })
