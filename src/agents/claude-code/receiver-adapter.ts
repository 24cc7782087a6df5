import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { AgentFolders } from '../base/agent-file.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { HeardHooks } from './received-hooks.ts'
import { ABSENT_PATIENCE_MILLIS, LOOK_MILLIS, TranscriptFile } from './transcript-file.ts'
import type { TranscriptLines } from './transcript-lines.ts'
import { agentFile, openFile, ownPlace } from './transcript-place.ts'
import {
  type AgentFound,
  READS_FIRST,
  READS_UNHEARD,
  type ReadOver,
  type RequestFound,
  type ResultFound,
  type Whose,
} from './types.ts'

const FILES_LIMIT = 200
const PROMPTS_LIMIT = 1000
const AGENTS_LIMIT = 10_000
const CALLS_LIMIT = 10_000
const BATCH_LIMIT = 1000
const META_BYTES = 64 * 1024

/** A hook that triggers reading the files. */
interface Occasion {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly whose: Whose
  readonly transcript: string
}

class ClaudeCodeInlet implements ReceiverAdapter {
  readonly #world: AdapterEnvironment
  readonly #files = new LimitedMap<string, TranscriptFile>(FILES_LIMIT)
  /**
   * Turns with received hooks; true if the prompt's hook was received. Needed because a transcript contains all earlier turns as
   * well.
   */
  readonly #prompts = new LimitedMap<string, boolean>(PROMPTS_LIMIT)

  /** Tool calls with a received hook. */
  readonly #calls = new LimitedMap<string, true>(CALLS_LIMIT)
  /** Child agents whose tool call is known. */
  readonly #joined = new LimitedMap<string, true>(AGENTS_LIMIT)
  readonly #heard = new HeardHooks()

  constructor(world: AdapterEnvironment) {
    this.#world = world
  }

  events({ body, at, headers: { traceparent } }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith('transcript:')) return []
    const prompt = idOf(peek(body, 'prompt_id'))
    const isHeard = event === 'UserPromptSubmit' || this.#prompts.get(prompt ?? '') === true
    if (prompt !== undefined) this.#prompts.set(prompt, isHeard)
    this.#heard.note(event, at, body)
    return [{ event, at, data: body, ...(traceparent === undefined ? {} : { context: { traceparent } }) }]
  }

  get lostHooks(): number {
    return this.#heard.lost
  }

  async enrich({ event, at = Number.POSITIVE_INFINITY, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (session_id === undefined || !this.#isRead(event, idOf(peek(data, 'tool_use_id')))) return []
    const transcript = textOf(peek(data, 'transcript_path'))
    const whose = { session_id, agent_id: idOf(peek(data, 'agent_id')) }
    // Unreadable files are skipped.
    const found =
      transcript === undefined ? [] : await this.#read({ event, at, data, whose, transcript }).catch(() => [])
    return found.some(one => one.event === OVER) ? found : [...found, over({ session_id })]
  }

  #isRead(event: string, callId: string | undefined): boolean {
    const isUnheard = callId !== undefined && !this.#calls.has(callId)
    if (isUnheard) this.#calls.set(callId, true)
    return READS_FIRST.has(event) || (isUnheard && READS_UNHEARD.has(event))
  }

  async #read(occasion: Occasion): Promise<HostEvent[]> {
    const { event, at, data, whose, transcript } = occasion
    const { agent_id } = whose
    if (event === 'SubagentStart') return this.#joinOf(occasion, ABSENT_PATIENCE_MILLIS)
    const path = agent_id === undefined ? transcript : agentFile(transcript, agent_id, '.jsonl')
    if (path === undefined) return []
    const join = agent_id === undefined || this.#joined.has(agent_id) ? [] : await this.#joinOf(occasion, 0)
    const file = this.#fileOf(path, whose)
    await file.until(event, this.#world, lines => {
      lines.advance(at, event === 'Stop')
      return this.#isEnough(lines, occasion)
    })
    const goes_on = event === 'Stop' && file.lines.goesOn
    const callId = idOf(peek(data, 'tool_use_id'))
    const taken = callId === undefined ? file.lines.take() : file.lines.takeFor(callId)
    const late = file.isThere && this.#lacksRequest(file.lines, occasion) ? [lateRequest(file, occasion)] : []
    const found = agent_id === undefined ? await this.#news(taken, occasion) : this.#ofChild(taken)
    this.#heard.suspect(file.lines.takeCancelled(), whose, at)
    if (event === 'PostToolBatch') file.lines.asked(at)
    const owed = agent_id === undefined ? await this.#owedTo(occasion) : []
    return [...join, ...found, ...late, ...owed, over({ session_id: whose.session_id, goes_on: goes_on || undefined })]
  }

  /** Returns true if the lines read suffice for this hook. Always true if nothing is awaited. */
  #isEnough(lines: TranscriptLines, { event, data, whose }: Occasion): boolean {
    if (event === 'PostToolBatch') return callsOf(data).every(id => lines.has(id, !this.#heard.hasEnd(whose, id)))
    return isEnough(lines, event, data)
  }

  /** The request of a tool that begins with this hook is not yet in the transcript. */
  #lacksRequest(lines: TranscriptLines, { event, data }: Occasion): boolean {
    const callId = idOf(peek(data, 'tool_use_id'))
    if (callId !== undefined) return !lines.knows(callId)
    return event === 'PostToolBatch' && callsOf(data).some(id => !this.#calls.has(id) && !lines.has(id, false))
  }

  /** Everything else about a child is known from its hooks and its parent. */
  #ofChild(taken: readonly HostEvent[]): HostEvent[] {
    return taken.filter(one => OF_REQUESTS.has(one.event) || this.#isMissed(one))
  }

  /** The result of a tool whose end was not reported. */
  #isMissed({ event, data }: HostEvent): boolean {
    return event === RESULT && !this.#heard.hasEnd(data as ResultFound, (data as ResultFound).tool_use_id)
  }

  /** Reads lines of ended children that were written after their end. */
  async #owedTo({ event, at, whose }: Occasion): Promise<HostEvent[]> {
    if (!ENDS.has(event)) return []
    const found: HostEvent[] = []
    for (const file of this.#files.values()) {
      if (!file.isOwing || file.whose.session_id !== whose.session_id) continue
      await file.readRest(this.#world)
      this.#heard.suspect(file.lines.takeCancelled(), file.whose, at)
      found.push(...this.#ofChild(file.lines.take()))
    }
    return found
  }

  /** Filters findings to turns with received hooks and the turn before them, which an earlier receiver may have left open. */
  async #news(taken: readonly HostEvent[], { event, data, transcript }: Occasion): Promise<HostEvent[]> {
    const before = taken.map(promptOf).findLast(id => id !== undefined && !this.#prompts.has(id))
    const isNews = (one: HostEvent): boolean => {
      const prompt = promptOf(one)
      if (prompt === undefined) return false
      if (one.event === 'transcript:prompt') return this.#prompts.get(prompt) === false
      if (one.event === 'transcript:stopped' && event === 'Stop' && prompt === promptOf({ event, data })) return false
      if (one.event === RESULT && !this.#isMissed(one)) return false
      return this.#prompts.has(prompt) || prompt === before
    }
    const found: HostEvent[] = []
    for (const one of taken.filter(isNews)) {
      if (one.event === RESULT) found.push(...(await this.#childOf(one.data as ResultFound, transcript)))
      found.push(one)
    }
    return found
  }

  /** Reads a child agent for which no hook was received, using its result in the parent's transcript. */
  async #childOf({ session_id, tool_use_id, at, response }: ResultFound, transcript: string): Promise<HostEvent[]> {
    const agent_id = idOf(peek(response, 'agentId'))
    const path = agent_id === undefined ? undefined : agentFile(transcript, agent_id, '.jsonl')
    if (agent_id === undefined || path === undefined || this.#joined.has(agent_id)) return []
    this.#joined.set(agent_id, true)
    const join: AgentFound = { session_id, agent_id, tool_use_id }
    const file = this.#fileOf(path, { session_id, agent_id })
    await file.readRest(this.#world)
    this.#heard.suspect(file.lines.takeCancelled(), file.whose, at)
    return [{ event: 'transcript:agent', data: join }, ...this.#ofChild(file.lines.take())]
  }

  #fileOf(path: string, whose: Whose): TranscriptFile {
    const known = this.#files.get(path) ?? new TranscriptFile(path, whose)
    this.#files.delete(path)
    this.#files.set(path, known)
    return known
  }

  async #joinOf({ whose: { session_id, agent_id }, transcript }: Occasion, patience: number): Promise<HostEvent[]> {
    const path = agent_id === undefined ? undefined : agentFile(transcript, agent_id, '.meta.json')
    if (agent_id === undefined || path === undefined) return []
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const tool_use_id = await callIn(path, this.#world.place)
      if (tool_use_id !== undefined) {
        const found: AgentFound = { session_id, agent_id, tool_use_id }
        this.#joined.set(agent_id, true)
        return [{ event: 'transcript:agent', data: found }]
      }
      if (waited >= patience) return []
      await this.#world.wait(LOOK_MILLIS)
    }
  }
}

const ENDS: ReadonlySet<string> = new Set(['Stop', 'UserPromptSubmit', 'SessionEnd'])
const OF_REQUESTS: ReadonlySet<string> = new Set(['transcript:request', 'transcript:response', 'transcript:failure'])
const RESULT = 'transcript:result'
const OVER = 'transcript:read'

function promptOf({ data }: HostEvent): string | undefined {
  return idOf(peek(data, 'prompt_id'))
}

/** A request that is not yet in the transcript; its tool call proves that it exists. */
function lateRequest({ lines }: TranscriptFile, { data, whose }: Occasion): HostEvent {
  const found: RequestFound = {
    ...whose,
    prompt_id: idOf(peek(data, 'prompt_id')),
    started_at: lines.askedAt === 0 ? undefined : lines.askedAt,
    start_is_guessed: true,
  }
  return { event: 'transcript:request', data: found }
}

function over(data: ReadOver): HostEvent {
  return { event: OVER, data }
}

/** The calls of the answer, from `PostToolBatch`. */
function callsOf(data: unknown): string[] {
  const ids = elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT).map(call => idOf(peek(call, 'tool_use_id')))
  return ids.filter(id => id !== undefined)
}

function isEnough(lines: TranscriptLines, event: string, data: unknown): boolean {
  const callId = idOf(peek(data, 'tool_use_id'))
  if (callId !== undefined) return lines.knows(callId)
  if (event === 'Stop') return lines.isStopped
  const isEnd = event === 'StopFailure' || event === 'SubagentStop'
  return !isEnd || lines.lastText?.trim() === textOf(peek(data, 'last_assistant_message'))?.trim()
}

async function callIn(path: string, place: AgentFolders): Promise<string | undefined> {
  const file = await openFile(path, place)
  if (file === undefined) return undefined
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(META_BYTES), 0, META_BYTES, 0)
    return idOf(peek(JSON.parse(buffer.toString('utf8', 0, bytesRead)), 'toolUseId'))
  } catch {
    // The file is being written.
    return undefined
  } finally {
    await file.close()
  }
}

export function createClaudeCodeInlet(world: AdapterEnvironment): ReceiverAdapter {
  return new ClaudeCodeInlet(world)
}

export const claudeCode: ReceiverAdapter = createClaudeCodeInlet({ place: ownPlace(process.env), wait: sleep })
