import { isAbsolute, join, normalize } from 'node:path'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'
import { FILE_LINES, type FileLine } from './types.ts'

const SESSIONS_FOLDER = 'session-state'
const FILE_NAME = 'events.jsonl'
/** The format of Copilot's session ids. In a path, it cannot leave the folder. */
const ID = /^[\w-]{1,128}$/
const CALLS_LIMIT = 1000
/** Extracts a line's type without parsing it: most lines of a file are not read. */
const TYPE = /^\{"type":"([\w.]{1,60})"/
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

export interface ReadTrigger {
  readonly event: string
  readonly at: number
}

const PROMPT_HOOK = 'UserPromptSubmit'
const SHUTDOWN = 'file:session.shutdown'
const PROMPTS: ReadonlySet<string> = new Set(['file:user.message', 'file:system.notification'])
const PROCESSES: ReadonlySet<string> = new Set([SHUTDOWN, 'file:session.resume'])
const STARTS: ReadonlySet<string> = new Set(['SessionStart', PROMPT_HOOK])

export function sessionFilePath(home: string, sessionId: string): string | undefined {
  return ID.test(sessionId) ? join(home, SESSIONS_FOLDER, sessionId, FILE_NAME) : undefined
}

export class SessionFile {
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

  async read(place: AgentFolders): Promise<boolean> {
    const file = await openAgentFile(this.#path, place, SESSIONS_FOLDER)
    if (file === undefined) return false
    try {
      await this.#reader.readNewLines(
        file,
        line => this.#readLine(line),
        () => {
          this.#pendingLines = []
        },
      )
      return true
    } finally {
      await file.close()
    }
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
    const given = this.#isFirst ? lastTurns(taken, STARTS.has(event) ? 2 : 1) : taken
    if (taken.length > 0) this.#isFirst = false
    return given.map(line => line.event)
  }

  #readLine(text: string): void {
    const type = TYPE.exec(text)?.[1]
    const isRead = type === undefined || Object.hasOwn(FILE_LINES, type)
    const line = isRead ? jsonIn(text) : undefined
    const at = isRead ? Date.parse(textOf(peek(line, 'timestamp')) ?? '') : timeIn(text)
    if (Number.isNaN(at)) return
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

function timeIn(text: string): number {
  return Date.parse(/"timestamp":"([^"]{10,40})"(?:,"parentId":(?:null|"[^"]*"))?\}$/.exec(text)?.[1] ?? '')
}

function eventOf(line: unknown, at: number, session_id: string): HostEvent | undefined {
  const type = textOf(peek(line, 'type')) ?? ''
  const fields = Object.hasOwn(FILE_LINES, type) ? FILE_LINES[type] : undefined
  if (fields === undefined) return undefined
  const data = peek(line, 'data')
  const about: FileLine = { session_id, agent_id: idOf(peek(line, 'agentId')), line_id: idOf(peek(line, 'id')) }
  return { event: `file:${type}`, at, data: { ...about, ...pickFields(data, fields) } }
}

function pickFields(value: unknown, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map(name => [name, fieldOf(value, name)] as const).filter(([, one]) => one !== undefined),
  )
}

function fieldOf(value: unknown, name: string): unknown {
  const field = peek(value, name)
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

export function copilotFolders(env: Readonly<Record<string, string | undefined>>, home: string): AgentFolders {
  const own = env['COPILOT_HOME']?.trim() ?? ''
  const homes = [...(isAbsolute(own) ? [own] : []), join(home, '.copilot')]
  return { folders: homes.map(folder => normalize(folder)), uid: process.getuid?.() }
}
