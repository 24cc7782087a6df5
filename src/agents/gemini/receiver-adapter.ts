import { homedir } from 'node:os'
import { dirname, isAbsolute, join, normalize } from 'node:path'
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, listAgentFolder, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { eventsOfLine, isLastLine } from './session-lines.ts'
import { type GeminiFileOwner, READS_FIRST } from './types.ts'

const FILES_LIMIT = 200
const NAMES_LIMIT = 5000
const DONE_LIMIT = 10_000
const PROJECTS_FOLDER = 'tmp'
/** The format of Gemini CLI's session and agent ids. In a path, it cannot leave the folder. */
const ID = /^[\w-]{1,128}$/
const FILE_EXTENSION = '.jsonl'

class GeminiAdapter implements ReceiverAdapter {
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
    return [{ event, at: plausibleTime(Date.parse(textOf(peek(body, 'timestamp')) ?? ''), at), data: body }]
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

  async #readNewLines(path: string, owner: GeminiFileOwner): Promise<HostEvent[]> {
    const file = await openAgentFile(path, this.#place, PROJECTS_FOLDER)
    if (file === undefined) return []
    const found: HostEvent[] = []
    try {
      const readLine = (line: string): void => {
        if (owner.agent_id !== undefined && isLastLine(line)) this.#finishedFiles.set(path, true)
        found.push(...eventsOfLine(line, owner))
      }
      await this.#readerOf(path).readNewLines(file, readLine, () => undefined)
      return found
    } finally {
      await file.close()
    }
  }

  #readerOf(path: string): AppendedLineReader {
    const known = this.#readers.get(path) ?? new AppendedLineReader()
    this.#readers.delete(path)
    this.#readers.set(path, known)
    return known
  }
}

export function createGeminiAdapter(place: AgentFolders): ReceiverAdapter {
  return new GeminiAdapter(place)
}

function geminiFolders(env: Readonly<Record<string, string | undefined>>): AgentFolders {
  const own = env['GEMINI_CLI_HOME']?.trim() ?? ''
  const homes = [homedir(), ...(isAbsolute(own) ? [own] : [])]
  return { folders: homes.map(home => normalize(join(home, '.gemini'))), uid: process.getuid?.() }
}

export const gemini: ReceiverAdapter = createGeminiAdapter(geminiFolders(process.env))
