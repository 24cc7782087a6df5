import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { AgentFolders } from '../base/agent-file.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import { type ReadTrigger, SessionFile, sessionFilePath } from './session-file.ts'

/** Copilot writes its file in batches, up to half a second after the hooks. */
const PATIENCE_MILLIS = 1500
const LOOK_MILLIS = 50
const FILES_LIMIT = 200
const CHILDREN_LIMIT = 10_000
const FILE_NAME = /[/\\]session-state[/\\]([\w-]{1,128})[/\\]events\.jsonl$/

export class SessionFiles {
  readonly #place: AgentFolders
  readonly #wait: (millis: number) => Promise<unknown>
  readonly #files = new LimitedMap<string, SessionFile>(FILES_LIMIT)
  readonly #sessionOfChild = new LimitedMap<string, string>(CHILDREN_LIMIT)
  /** Serialises the reads of one file: hooks of a session and of its child agents arrive concurrently. */
  readonly #queues = new LimitedMap<string, Promise<unknown>>(FILES_LIMIT)
  /** True if the last session had no file: this version of the agent writes none. */
  #isMissing: boolean

  constructor(place: AgentFolders, wait: (millis: number) => Promise<unknown>) {
    this.#place = place
    this.#wait = wait
    this.#isMissing = place.folders.length === 0
  }

  async read(event: string, at: number, data: unknown): Promise<readonly HostEvent[] | undefined> {
    const session = this.#sessionOf(data)
    if (session === undefined) return undefined
    const occasion = { event, at: plausibleTime(Date.parse(textOf(peek(data, 'timestamp')) ?? ''), at) }
    const before = this.#queues.get(session) ?? Promise.resolve()
    const reading = before.then(() => this.#readFor(session, occasion)).catch(() => undefined)
    this.#queues.set(session, reading)
    return await reading
  }

  async #readFor(session: string, occasion: ReadTrigger): Promise<readonly HostEvent[] | undefined> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      const file = await this.#fileOf(session)
      if (file === undefined && waited >= PATIENCE_MILLIS) this.#isMissing = true
      if (file?.isEnough(occasion) === true || waited >= PATIENCE_MILLIS) return file?.drainLines(occasion)
      // Only the first hooks of a session may precede the file.
      if (file === undefined && (this.#isMissing || occasion.event !== 'UserPromptSubmit')) return undefined
      await this.#wait(LOOK_MILLIS)
    }
  }

  async #fileOf(session: string): Promise<SessionFile | undefined> {
    const known = this.#files.get(session)
    if (known !== undefined) return (await known.read(this.#place)) ? known : undefined
    for (const folder of this.#place.folders) {
      const path = sessionFilePath(folder, session)
      const file = path === undefined ? undefined : new SessionFile(path, session)
      if (file === undefined || !(await file.read(this.#place))) continue
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
    const named = FILE_NAME.exec(textOf(peek(data, 'transcript_path')) ?? '')?.[1]
    const session =
      named ??
      this.#sessionOfChild.get(agentId) ??
      (parent === undefined ? undefined : (this.#sessionOfChild.get(parent) ?? parent))
    if (session !== undefined) this.#sessionOfChild.set(agentId, session)
    return session
  }
}
