import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, numberOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, AppendedLineReader, agentFolders, ID_IN_PATH, openAgentFile } from '../base/agent-file.ts'
import { plausibleTime, timestampOf } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import {
  ATTRIBUTES,
  CONVERSATION,
  FILE_LINES,
  FILE_READ,
  type FileLine,
  OPERATION,
  SPAN_READ,
  SPAN_REQUEST,
  WAITING_HOOKS,
} from './events.ts'

const SESSIONS_FOLDER = 'session-state'
const FILE_NAME = 'events.jsonl'
/** Copilot writes its file in batches, up to half a second after the hooks. */
const FILE_PATIENCE_MILLIS = 1500
const LOOK_MILLIS = 50
const FILES_LIMIT = 200
const CHILDREN_LIMIT = 10_000
const FILE_PATH = /[/\\]session-state[/\\]([\w-]{1,128})[/\\]events\.jsonl$/
const CALLS_LIMIT = 1000
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

interface PendingLine {
  readonly at: number
  readonly event: HostEvent
  readonly isPrompt: boolean
  readonly isBoundary: boolean
}

interface ReadTrigger {
  readonly event: string
  readonly at: number
}

const PROMPT_HOOK = 'UserPromptSubmit'
const SHUTDOWN = 'file:session.shutdown'
const PROMPTS: ReadonlySet<string> = new Set(['file:user.message', 'file:system.notification'])
const PROCESSES: ReadonlySet<string> = new Set([SHUTDOWN, 'file:session.resume'])
const STARTS: ReadonlySet<string> = new Set(['SessionStart', PROMPT_HOOK])

class SessionFile {
  readonly #path: string
  readonly #sessionId: string
  readonly #reader = new AppendedLineReader()
  #pendingLines: PendingLine[] = []
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
    return this.#reader.readFrom(
      openAgentFile(this.#path, place, SESSIONS_FOLDER),
      line => this.#readLine(line),
      () => {
        this.#pendingLines = []
      },
    )
  }

  /** Returns true if all lines of the hook have been read. The file lags behind the hooks by up to half a second. */
  isEnough({ event, at }: ReadTrigger): boolean {
    if (event === PROMPT_HOOK) return this.#promptAt >= at
    return event === 'SessionEnd' ? this.#shutdownAt >= at : this.#lastAt >= at
  }

  /**
   * Takes the lines for this hook. A later beginning or end belongs to a later hook, except for the hook's own: the prompt of
   * `UserPromptSubmit`, the shutdown of `SessionEnd`.
   */
  drainLines({ event, at }: ReadTrigger): HostEvent[] {
    let prompts = event === PROMPT_HOOK ? 1 : 0
    const end = this.#pendingLines.findIndex(line => {
      if (!line.isBoundary || line.at <= at) return false
      if (line.isPrompt) return prompts-- <= 0
      return line.event.event !== SHUTDOWN || event !== 'SessionEnd'
    })
    const taken = this.#pendingLines.splice(0, end < 0 ? this.#pendingLines.length : end)
    const recent = this.#isFirst ? lastTurns(taken, STARTS.has(event) ? 2 : 1) : taken
    if (taken.length > 0) this.#isFirst = false
    return recent.map(line => line.event)
  }

  #readLine(text: string): void {
    const type = TYPE.exec(text)?.[1]
    const isRead = type === undefined || Object.hasOwn(FILE_LINES, type)
    const line = isRead ? jsonIn(text) : undefined
    const at = isRead ? timestampOf(line) : timestampOf({ timestamp: TIMESTAMP.exec(text)?.[1] })
    if (at === undefined) return
    this.#lastAt = Math.max(this.#lastAt, at)
    const event = eventOf(line, at, this.#sessionId)
    if (event === undefined) return
    if (event.event === SHUTDOWN) this.#shutdownAt = at
    const begins = PROMPTS.has(event.event)
    if (begins) this.#promptAt = at
    const isPrompt = begins && peek(event.data, 'agent_id') === undefined
    this.#pendingLines.push({ at, event, isPrompt, isBoundary: isPrompt || PROCESSES.has(event.event) })
  }
}

class SessionFiles {
  readonly #environment: AdapterEnvironment
  readonly #files = new LimitedMap<string, SessionFile>(FILES_LIMIT)
  readonly #sessionOfChild = new LimitedMap<string, string>(CHILDREN_LIMIT)
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
    return await reading
  }

  async #readFor(session: string, trigger: ReadTrigger): Promise<readonly HostEvent[] | undefined> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const file = await this.#fileOf(session)
      if (file === undefined && waited >= FILE_PATIENCE_MILLIS) this.#isMissing = true
      if (file?.isEnough(trigger) === true || waited >= FILE_PATIENCE_MILLIS) return file?.drainLines(trigger)
      // Only the first hooks of a session may precede the file.
      if (file === undefined && (this.#isMissing || trigger.event !== 'UserPromptSubmit')) return undefined
      await this.#environment.wait(LOOK_MILLIS)
    }
  }

  async #fileOf(session: string): Promise<SessionFile | undefined> {
    const { place } = this.#environment
    const known = this.#files.get(session)
    if (known !== undefined) return (await known.read(place)) ? known : undefined
    for (const folder of ID_IN_PATH.test(session) ? place.folders : []) {
      const file = new SessionFile(join(folder, SESSIONS_FOLDER, session, FILE_NAME), session)
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
    const session =
      named ??
      this.#sessionOfChild.get(agentId) ??
      (parent === undefined ? undefined : (this.#sessionOfChild.get(parent) ?? parent))
    if (session !== undefined) this.#sessionOfChild.set(agentId, session)
    return session
  }
}

function eventOf(line: unknown, at: number, session_id: string): HostEvent | undefined {
  const type = textOf(peek(line, 'type')) ?? ''
  const fields = Object.hasOwn(FILE_LINES, type) ? FILE_LINES[type] : undefined
  if (fields === undefined) return undefined
  const data = peek(line, 'data')
  const about: FileLine = { session_id, agent_id: idOf(peek(line, 'agentId')), line_id: idOf(peek(line, 'id')) }
  const found = Object.entries(pickFields(data, fields)).map(([name, field]) => [name, reducedField(name, field)])
  return { event: `file:${type}`, at, data: { ...about, ...Object.fromEntries(found) } }
}

function reducedField(name: string, field: unknown): unknown {
  if (name === 'toolRequests') {
    return elementsOf(field, CALLS_LIMIT).map(call => pickFields(call, ['toolCallId', 'name', 'arguments']))
  }
  const parts = NESTED_FIELDS[name]
  return parts === undefined || typeof field !== 'object' || field === null ? field : pickFields(field, parts)
}

/** Keeps the last turns of a first read, which contains every turn of the session; only the last ones may be new. */
function lastTurns(lines: readonly PendingLine[], count: number): readonly PendingLine[] {
  const prompts = lines.flatMap(({ isPrompt }, index) => (isPrompt ? [index] : []))
  return lines.slice(prompts.at(-count) ?? 0)
}

/** Event name for a body without a hook name, such as that of `preToolUse`: counted as ignored. */
const UNNAMED = 'unnamed'
/** Exporters batch ended spans for five seconds. The wait does not delay the agent. */
const PATIENCE_MILLIS = 8_000
const SESSIONS_LIMIT = 1000
const TEXT_LIMIT = 1_000_000
const CLIENT = 3

interface TelemetrySession {
  since: number | undefined
  knownUntil: number
  hasSpans: boolean
  onTurnSpan(): void
}

/**
 * Reads the hooks of GitHub Copilot CLI, its session files, and its telemetry. Without a file, only telemetry has the requests.
 * Spans come seconds after the hooks, and the turn's own span is the last. A hook that ends a turn waits for that span, if spans
 * are sent.
 */
export class CopilotAdapters {
  readonly #environment: AdapterEnvironment
  readonly #files: SessionFiles
  readonly #sessions = new LimitedMap<string, TelemetrySession>(SESSIONS_LIMIT)
  /** True after a wait in vain without any span since: in most installations telemetry is disabled. */
  #isSilent = false

  readonly hooks: ReceiverAdapter = {
    events: ({ body, at }) => {
      if (typeof body !== 'object' || body === null) return []
      const event = textOf(peek(body, 'hook_event_name')) ?? UNNAMED
      return /^(?:span|file):/.test(event) ? [] : [{ event, at, data: body }]
    },
    enrich: event => this.#readEvents(event),
  }

  readonly spans: ReceiverAdapter = { events: delivery => this.#readSpan(delivery) }

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
    this.#files = new SessionFiles(environment)
  }

  async #readEvents({ event, at = 0, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (session_id === undefined) return []
    const found = await this.#files.read(event, at, data)
    if (found !== undefined) return [...found, { event: FILE_READ, data: { session_id } }]
    const session = this.#sessionOf(session_id)
    // A turn whose prompt was not received.
    if (event === 'PreToolUse') session.since ??= at
    if (!WAITING_HOOKS.has(event)) return [{ event: FILE_READ, data: { session_id } }]
    if (session.since !== undefined) await this.#awaitSpans(session, session.since)
    session.since = event === 'UserPromptSubmit' ? at : undefined
    return [{ event: SPAN_READ, data: { session_id } }]
  }

  async #awaitSpans(session: TelemetrySession, since: number): Promise<void> {
    const isKnown = (): boolean => session.knownUntil > since
    if (isKnown() || (this.#isSilent && !session.hasSpans)) return
    const over = new AbortController()
    const arrived = new Promise<void>(resolve => {
      session.onTurnSpan = () => isKnown() && resolve()
    })
    await Promise.race([arrived, this.#environment.wait(PATIENCE_MILLIS, over.signal)])
    over.abort()
    if (!session.hasSpans) this.#isSilent = true
  }

  #readSpan({ body, at }: HookDelivery): readonly HostEvent[] {
    const attributes = peek(body, 'attributes')
    const session = this.#sessionOf(idOf(peek(attributes, CONVERSATION)) ?? '')
    session.hasSpans = true
    this.#isSilent = false
    const operation = peek(attributes, OPERATION)
    // The span of the agent itself. Those of child agents are below it.
    const isTurn = peek(body, 'kind') === CLIENT || peek(body, 'parentSpanId') === undefined
    if (operation === 'invoke_agent' && isTurn) {
      session.knownUntil = Math.max(session.knownUntil, numberOf(peek(body, 'endAt')) ?? 0)
      session.onTurnSpan()
    }
    if (operation !== 'chat') return []
    return [{ event: SPAN_REQUEST, at, data: { ...(body as object), attributes: selectAttributes(attributes) } }]
  }

  #sessionOf(id: string): TelemetrySession {
    return this.#sessions.recall(id, () => {
      return { since: undefined, knownUntil: 0, hasSpans: false, onTurnSpan: () => undefined }
    })
  }
}

/** Keeps only the attributes that are read: the others, such as the whole conversation, would fill the memory. */
function selectAttributes(attributes: unknown): Record<string, unknown> {
  const values = Object.entries(pickFields(attributes, ATTRIBUTES))
  return Object.fromEntries(values.filter(([, value]) => !(typeof value === 'string' && value.length > TEXT_LIMIT)))
}

const adapters = new CopilotAdapters({
  place: agentFolders(['COPILOT_HOME'], '.copilot'),
  wait: (millis, signal) => sleep(millis, undefined, { signal }).catch(() => undefined),
})

export const copilot: ReceiverAdapter = adapters.hooks
export const copilotSpans: ReceiverAdapter = adapters.spans
