import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { LineReader } from '../base/line-reader.ts'
import type { HostEvent } from '../host-event.ts'
import type { Delivery, Inlet, World } from '../inlet.ts'
import { TranscriptLines } from './transcript-lines.ts'
import { agentFile, openFile, ownPlace, type Place } from './transcript-place.ts'
import { type AgentFound, READS_FIRST, READS_UNHEARD, type ReadOver, type RequestFound, type Whose } from './types.ts'

/** Transcripts lag behind the hooks, mostly by a tenth of a second. Waiting costs the agent nothing. */
const PATIENCE_MILLIS = 500
/** Where it was in vain before. */
const LESS_PATIENCE_MILLIS = 160
const LOOK_MILLIS = 20
const FILES_LIMIT = 200
const PROMPTS_LIMIT = 1000
const CALLS_LIMIT = 10_000
const META_BYTES = 64 * 1024

/** A hook that has the files read. */
interface Occasion {
  readonly event: string
  readonly at: number
  readonly data: unknown
  readonly whose: Whose
  readonly transcript: string
}

class ClaudeCodeInlet implements Inlet {
  readonly #world: World
  readonly #files = new LimitedMap<string, TranscriptFile>(FILES_LIMIT)
  /** Turns of which hooks were heard, and whether their prompt was: a transcript has all turns that were before. */
  readonly #prompts = new LimitedMap<string, boolean>(PROMPTS_LIMIT)

  /** Tools that were heard of. */
  readonly #calls = new LimitedMap<string, true>(CALLS_LIMIT)

  constructor(world: World) {
    this.#world = world
  }

  events({ body, at, headers: { traceparent } }: Delivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith('transcript:')) return []
    const prompt = idOf(peek(body, 'prompt_id'))
    const isHeard = event === 'UserPromptSubmit' || this.#prompts.get(prompt ?? '') === true
    if (prompt !== undefined) this.#prompts.set(prompt, isHeard)
    return [{ event, at, data: body, ...(traceparent === undefined ? {} : { context: { traceparent } }) }]
  }

  async more({ event, at = Number.POSITIVE_INFINITY, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (session_id === undefined || !this.#isRead(event, idOf(peek(data, 'tool_use_id')))) return []
    const transcript = textOf(peek(data, 'transcript_path'))
    const whose = { session_id, agent_id: idOf(peek(data, 'agent_id')) }
    // A file that cannot be read says nothing.
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
    if (event === 'SubagentStart') return this.#joinOf(occasion)
    const path = agent_id === undefined ? transcript : agentFile(transcript, agent_id, '.jsonl')
    if (path === undefined) return []
    const file = this.#fileOf(path, whose)
    await file.until(event, this.#world, lines => {
      lines.advance(at, event === 'Stop')
      return isEnough(lines, event, data)
    })
    const goes_on = event === 'Stop' && file.lines.goesOn
    const callId = idOf(peek(data, 'tool_use_id'))
    const taken = callId === undefined ? file.lines.take() : file.lines.takeFor(callId)
    const late = callId === undefined || file.lines.knows(callId) || !file.isThere ? [] : [lateRequest(file, occasion)]
    const found = agent_id === undefined ? this.#news(taken, occasion) : taken.filter(one => OF_REQUESTS.has(one.event))
    if (event === 'PostToolBatch') file.lines.asked(at)
    const owed = agent_id === undefined ? await this.#owedTo(occasion) : []
    return [...found, ...late, ...owed, over({ session_id: whose.session_id, goes_on: goes_on || undefined })]
  }

  /** Of children that have ended, what was not written then. */
  async #owedTo({ event, whose }: Occasion): Promise<HostEvent[]> {
    if (!ENDS.has(event)) return []
    const found: HostEvent[] = []
    for (const file of this.#files.values()) {
      if (!file.isOwing || file.whose.session_id !== whose.session_id) continue
      await file.readRest(this.#world)
      found.push(...file.lines.take().filter(one => OF_REQUESTS.has(one.event)))
    }
    return found
  }

  /** Of turns that were heard of, and of the one before: a receiver before this one may have left that open. */
  #news(taken: readonly HostEvent[], { event, data }: Occasion): HostEvent[] {
    const before = taken.map(promptOf).findLast(id => id !== undefined && !this.#prompts.has(id))
    return taken.filter(one => {
      const prompt = promptOf(one)
      if (prompt === undefined) return false
      if (one.event === 'transcript:prompt') return this.#prompts.get(prompt) === false
      if (one.event === 'transcript:stopped' && event === 'Stop' && prompt === promptOf({ event, data })) return false
      return this.#prompts.has(prompt) || prompt === before
    })
  }

  #fileOf(path: string, whose: Whose): TranscriptFile {
    const known = this.#files.get(path) ?? new TranscriptFile(path, whose)
    this.#files.delete(path)
    this.#files.set(path, known)
    return known
  }

  /** Which tool call a child agent belongs to. */
  async #joinOf({ whose: { session_id, agent_id }, transcript }: Occasion): Promise<HostEvent[]> {
    const path = agent_id === undefined ? undefined : agentFile(transcript, agent_id, '.meta.json')
    if (agent_id === undefined || path === undefined) return []
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const tool_use_id = await callIn(path, this.#world.place)
      if (tool_use_id !== undefined) {
        const found: AgentFound = { session_id, agent_id, tool_use_id }
        return [{ event: 'transcript:agent', data: found }]
      }
      if (waited >= PATIENCE_MILLIS) return []
      await this.#world.wait(LOOK_MILLIS)
    }
  }
}

const ENDS: ReadonlySet<string> = new Set(['Stop', 'UserPromptSubmit', 'SessionEnd'])
/** Of a child all else is known from its hooks, and from its parent. */
const OF_REQUESTS: ReadonlySet<string> = new Set(['transcript:request', 'transcript:response', 'transcript:failure'])
const OVER = 'transcript:read'

function promptOf({ data }: HostEvent): string | undefined {
  return idOf(peek(data, 'prompt_id'))
}

/** It is not written yet: that there is one, its tool shows. */
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

/** Whether what has been read is all that there is to know at this hook; where it is not awaited, it always is. */
function isEnough(lines: TranscriptLines, event: string, data: unknown): boolean {
  const callId = idOf(peek(data, 'tool_use_id'))
  if (callId !== undefined) return lines.knows(callId)
  if (event === 'Stop') return lines.isStopped
  const isEnd = event === 'StopFailure' || event === 'SubagentStop'
  return !isEnd || lines.lastText?.trim() === textOf(peek(data, 'last_assistant_message'))?.trim()
}

/** One transcript, and how far it has been read. */
class TranscriptFile {
  readonly #path: string
  readonly #reader = new LineReader()
  readonly whose: Whose
  readonly lines: TranscriptLines
  isThere = false
  /** Its agent has ended, and that is not written yet. */
  isOwing = false
  /** Hooks at which what is awaited has not come: a hook of somebody else's takes long, or it is never written. */
  readonly #vain = new Set<string>()

  constructor(path: string, whose: Whose) {
    this.#path = path
    this.whose = whose
    this.lines = new TranscriptLines(whose)
  }

  /** Reads until it is enough, or for as long as it is worth it. */
  async until(event: string, { place, wait }: World, isEnough: (lines: TranscriptLines) => boolean): Promise<void> {
    const patience = this.#vain.has(event) ? LESS_PATIENCE_MILLIS : PATIENCE_MILLIS
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      this.isThere = await this.#read(place)
      if (isEnough(this.lines)) {
        this.#vain.delete(event)
        this.isOwing = false
        return
      }
      if (waited >= patience || (!this.isThere && this.#vain.has(event))) {
        this.#vain.add(event)
        this.isOwing = this.whose.agent_id !== undefined && event !== 'PreToolUse'
        return
      }
      await wait(LOOK_MILLIS)
    }
  }

  /** What has been written since it was given up. */
  async readRest({ place }: World): Promise<void> {
    this.isOwing = false
    await this.#read(place)
    this.lines.advance(Number.POSITIVE_INFINITY, false)
  }

  async #read(place: Place): Promise<boolean> {
    const file = await openFile(this.#path, place)
    if (file === undefined) return false
    try {
      await this.#reader.read(
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

async function callIn(path: string, place: Place): Promise<string | undefined> {
  const file = await openFile(path, place)
  if (file === undefined) return undefined
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(META_BYTES), 0, META_BYTES, 0)
    return idOf(peek(JSON.parse(buffer.toString('utf8', 0, bytesRead)), 'toolUseId'))
  } catch {
    // It is being written.
    return undefined
  } finally {
    await file.close()
  }
}

/** Hooks of Claude Code, and its transcripts. */
export function createClaudeCodeInlet(world: World): Inlet {
  return new ClaudeCodeInlet(world)
}

export const claudeCode: Inlet = createClaudeCodeInlet({ place: ownPlace(process.env), wait: sleep })
