import { join } from 'node:path'
import { elementsOf, idOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, ID_IN_PATH, openAgentFile } from '../base/agent-file.ts'
import { plausibleTime, type TimedEvent, timestampOf } from '../base/event-machine.ts'
import { pollUntil } from '../base/file-adapter.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment } from '../receiver-adapter.ts'
import { FILE_LINES, FIRST_HOOKS } from './events.ts'

const FOLDER = 'session-state'
/** Copilot writes its file in batches, up to half a second after the hooks. */
const PATIENCE_MILLIS = 1500
const FILES_LIMIT = 200
const FILE_PATH = /[/\\]session-state[/\\]([\w-]{1,128})[/\\]events\.jsonl$/
/** Extracts a line's type without parsing it: most lines of a file are not read. */
const TYPE = /^\{"type":"([\w.]{1,60})"/
const TIMESTAMP = /"timestamp":"([^"]{10,40})"(?:,"parentId":(?:null|"[^"]*"))?\}$/
const NESTED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  usage: [
    ...['model', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens', 'duration'],
    ...['timeToFirstTokenMs', 'modelProvider', 'apiCallId', 'interactionType', 'finishReason'],
  ],
  compactionTokensUsed: ['model', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'],
  permissionRequest: ['kind', 'toolCallId', 'fullCommandText', 'path', 'url', 'intention'],
  error: ['message', 'code'],
  result: ['content', 'kind'],
  shellExecution: ['exitCode'],
}

type ReadTrigger = Pick<TimedEvent, 'event' | 'at'>

const PROMPT_HOOK = 'UserPromptSubmit'
const SHUTDOWN = 'file:session.shutdown'
const PROMPTS: ReadonlySet<string> = new Set(['file:user.message', 'file:system.notification'])
const PROCESSES: ReadonlySet<string> = new Set([SHUTDOWN, 'file:session.resume'])

function isPrompt({ event, data }: TimedEvent): boolean {
  return PROMPTS.has(event) && peek(data, 'agent_id') === undefined
}

class SessionFile {
  readonly #path: string
  readonly #sessionId: string
  readonly #reader = new AppendedLineReader()
  #pendingLines: TimedEvent[] = []
  #isFirst = true
  /** Time of the last line, including lines that are not read. */
  #lastAt = 0
  #promptAt = 0
  #shutdownAt = 0

  constructor(path: string, sessionId: string) {
    this.#path = path
    this.#sessionId = sessionId
  }

  read(place: AgentFolders): Promise<boolean> {
    const restart = (): unknown => this.#pendingLines.splice(0)
    return this.#reader.readFrom(openAgentFile(this.#path, place, FOLDER), line => this.#readLine(line), restart)
  }

  isEnough({ event, at }: ReadTrigger): boolean {
    if (event === PROMPT_HOOK) return this.#promptAt >= at
    return event === 'SessionEnd' ? this.#shutdownAt >= at : this.#lastAt >= at
  }

  /**
   * Takes the lines for this hook. A later beginning or end belongs to a later hook, except for the hook's own: the prompt of
   * `UserPromptSubmit`, the shutdown of `SessionEnd`.
   */
  drainLines({ event, at }: ReadTrigger): readonly HostEvent[] {
    let prompts = event === PROMPT_HOOK ? 1 : 0
    const end = this.#pendingLines.findIndex(line => {
      if (line.at <= at) return false
      if (isPrompt(line)) return prompts-- <= 0
      return PROCESSES.has(line.event) && (line.event !== SHUTDOWN || event !== 'SessionEnd')
    })
    const taken = this.#pendingLines.splice(0, end < 0 ? this.#pendingLines.length : end)
    const recent = this.#isFirst ? lastTurns(taken, FIRST_HOOKS.has(event) ? 2 : 1) : taken
    if (taken.length > 0) this.#isFirst = false
    return recent
  }

  #readLine(text: string): void {
    const type = TYPE.exec(text)?.[1]
    const isRead = type === undefined || FILE_LINES.has(type)
    const line = isRead ? jsonIn(text) : undefined
    const at = isRead ? timestampOf(line) : timestampOf({ timestamp: TIMESTAMP.exec(text)?.[1] })
    if (at === undefined) return
    this.#lastAt = Math.max(this.#lastAt, at)
    const event = eventOf(line, at, this.#sessionId)
    if (event === undefined) return
    if (event.event === SHUTDOWN) this.#shutdownAt = at
    if (PROMPTS.has(event.event)) this.#promptAt = at
    this.#pendingLines.push(event)
  }
}

export class SessionFiles {
  readonly #environment: AdapterEnvironment
  readonly #files = new LimitedMap<string, SessionFile>(FILES_LIMIT)
  readonly #sessionOfChild = new LimitedMap<string, string>(10_000)
  /** Serialises the reads of one file: hooks of a session and of its child agents arrive concurrently. */
  readonly #queues = new LimitedMap<string, Promise<unknown>>(FILES_LIMIT)
  /** True if the last session had no file: this version of the agent writes none. */
  #isMissing: boolean

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
    this.#isMissing = environment.place.folders.length === 0
  }

  async read(event: string, at: number, data: unknown): Promise<readonly HostEvent[] | undefined> {
    const session = this.#sessionOf(data)
    if (session === undefined) return undefined
    const trigger = { event, at: plausibleTime(timestampOf(data), at) }
    const before = this.#queues.get(session) ?? Promise.resolve()
    const reading = before.then(() => this.#readFor(session, trigger)).catch(() => undefined)
    this.#queues.set(session, reading)
    return reading
  }

  async #readFor(session: string, trigger: ReadTrigger): Promise<readonly HostEvent[] | undefined> {
    let file: SessionFile | undefined
    const look = async (): Promise<boolean> => {
      file = await this.#fileOf(session)
      // Only the first hooks of a session may precede the file.
      return file?.isEnough(trigger) ?? (this.#isMissing || trigger.event !== PROMPT_HOOK)
    }
    const isEnough = await pollUntil(look, () => PATIENCE_MILLIS, this.#environment)
    if (file === undefined && !isEnough) this.#isMissing = true
    return file?.drainLines(trigger)
  }

  async #fileOf(session: string): Promise<SessionFile | undefined> {
    const { place } = this.#environment
    const known = this.#files.get(session)
    if (known !== undefined) return (await known.read(place)) ? known : undefined
    for (const folder of ID_IN_PATH.test(session) ? place.folders : []) {
      const file = new SessionFile(join(folder, FOLDER, session, 'events.jsonl'), session)
      if (!(await file.read(place))) continue
      this.#files.set(session, file)
      this.#isMissing = false
      return file
    }
    return undefined
  }

  /** A child agent is in the file of the session that started it, which some of its hooks name. */
  #sessionOf(data: unknown): string | undefined {
    const id = idOf(peek(data, 'session_id'))
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId === undefined) return id
    const parent = idOf(peek(data, 'parent_agent_id'))
    const named = FILE_PATH.exec(textOf(peek(data, 'transcript_path')) ?? '')?.[1]
    const session = named ?? this.#sessionOfChild.get(agentId) ?? (parent && this.#sessionOfChild.get(parent)) ?? parent
    if (session !== undefined) this.#sessionOfChild.set(agentId, session)
    return session
  }
}

function eventOf(line: unknown, at: number, session_id: string): TimedEvent | undefined {
  const type = textOf(peek(line, 'type')) ?? ''
  const [handle, ...fields] = FILE_LINES.get(type) ?? []
  if (handle === undefined) return undefined
  const data = peek(line, 'data')
  const about = { session_id, agent_id: idOf(peek(line, 'agentId')), line_id: idOf(peek(line, 'id')) }
  const found = Object.entries(pickFields(data, fields)).map(([name, field]) => [name, reducedField(name, field)])
  return { event: `file:${type}`, at, data: { ...about, ...Object.fromEntries(found) } }
}

function reducedField(name: string, field: unknown): unknown {
  if (name === 'toolRequests')
    return elementsOf(field).map(call => pickFields(call, ['toolCallId', 'name', 'arguments']))
  const parts = NESTED_FIELDS[name]
  return parts === undefined || typeof field !== 'object' || field === null ? field : pickFields(field, parts)
}

/** Keeps the last turns of a first read, which contains every turn of the session; only the last ones may be new. */
function lastTurns(lines: readonly TimedEvent[], count: number): readonly TimedEvent[] {
  const prompts = lines.flatMap((line, index) => (isPrompt(line) ? [index] : []))
  return lines.slice(prompts.at(-count) ?? 0)
}
