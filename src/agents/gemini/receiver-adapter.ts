import { dirname, join } from 'node:path'
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, agentFolders, listAgentFolder, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import { plausibleTime, timestampOf } from '../base/event-machine.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { eventsOfLine, isLastLine } from './session-lines.ts'
import { READS_FIRST } from './types.ts'

const FILES_LIMIT = 200
const NAMES_LIMIT = 5000
const DONE_LIMIT = 10_000
const PROJECTS_FOLDER = 'tmp'
/** The format of Gemini CLI's session and agent ids. In a path, it cannot leave the folder. */
const ID = /^[\w-]{1,128}$/
const FILE_EXTENSION = '.jsonl'

export class GeminiAdapter implements ReceiverAdapter {
  readonly #place: AgentFolders
  readonly #readers = new LimitedMap<string, AppendedLineReader>(FILES_LIMIT)
  readonly #finishedFiles = new LimitedMap<string, true>(DONE_LIMIT)

  constructor(place: AgentFolders) {
    this.#place = place
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith('session:')) return []
    // Prefers the hook's own timestamp: the time of receipt is that of the forwarding process's end.
    return [{ event, at: plausibleTime(timestampOf(body), at), data: body }]
  }

  async enrich({ event, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const path = textOf(peek(data, 'transcript_path'))
    const found = path === undefined ? [] : await this.#read(path, session_id).catch(() => [])
    return [...found, { event: 'session:read', data: { session_id } }]
  }

  async #read(path: string, session_id: string): Promise<HostEvent[]> {
    if (!path.endsWith(FILE_EXTENSION)) return []
    const found = await this.#readNewLines(path, { session_id })
    if (ID.test(session_id)) {
      const folder = join(dirname(path), session_id)
      for (const name of await listAgentFolder(folder, this.#place, PROJECTS_FOLDER, NAMES_LIMIT)) {
        found.push(...(await this.#readChild(folder, name, session_id)))
      }
    }
    return found.sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
  }

  async #readChild(folder: string, name: string, session_id: string): Promise<HostEvent[]> {
    const path = join(folder, name)
    const agent_id = name.slice(0, -FILE_EXTENSION.length)
    const isOne = name.endsWith(FILE_EXTENSION) && ID.test(agent_id) && !this.#finishedFiles.has(path)
    return isOne ? this.#readNewLines(path, { session_id, agent_id }) : []
  }

  async #readNewLines(path: string, owner: FindingOwner): Promise<HostEvent[]> {
    const found: HostEvent[] = []
    const reader = this.#readers.recall(path, () => new AppendedLineReader())
    await reader.readFrom(openAgentFile(path, this.#place, PROJECTS_FOLDER), line => {
      if (owner.agent_id !== undefined && isLastLine(line)) this.#finishedFiles.set(path, true)
      found.push(...eventsOfLine(line, owner))
    })
    return found
  }
}

export const gemini: ReceiverAdapter = new GeminiAdapter(agentFolders(['GEMINI_CLI_HOME'], '.gemini', '.gemini'))
