import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, normalize } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { type AgentFolders, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { READS_FIRST } from '../claude-code/types.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { HeardHooks } from './received-hooks.ts'
import { TranscriptLines } from './transcript-lines.ts'

/**
 * Transcripts lag behind the hooks, usually by some hundredths of a second, on a busy machine by seconds. The wait does not delay
 * the agent.
 */
const PATIENCE_MILLIS = 3000
/** Timeout after `OFTEN` consecutive waits in vain. */
const LESS_PATIENCE_MILLIS = 100
const OFTEN = 3
const LOOK_MILLIS = 20
const SESSIONS_LIMIT = 200
const FILES_LIMIT = 500
/** The folder of each project's transcripts, below that of Qwen Code. */
const PART = 'projects'
/** The format of Qwen Code's session and agent ids. In a path, it cannot leave the folder. */
const ID = /^[\w-]{1,128}$/
const ENDING = '.jsonl'

interface Transcript {
  readonly lines: TranscriptLines
  /** Consecutive waits in vain, by hook. */
  readonly vain: Map<string, number>
}

class QwenInlet implements ReceiverAdapter {
  readonly #world: AdapterEnvironment
  readonly #transcripts = new LimitedMap<string, Transcript>(SESSIONS_LIMIT)
  readonly #readers = new LimitedMap<string, AppendedLineReader>(FILES_LIMIT)
  readonly #heard = new HeardHooks()

  constructor(world: AdapterEnvironment) {
    this.#world = world
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith('transcript:')) return []
    this.#heard.note(event, body)
    return [{ event, at: plausibleTime(Date.parse(textOf(peek(body, 'timestamp')) ?? ''), at), data: body }]
  }

  get lostHooks(): number {
    return this.#heard.lost
  }

  async enrich({ event, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const path = textOf(peek(data, 'transcript_path'))
    const found = path === undefined ? [] : await this.#read(path, event, data).catch(() => [])
    return [...found, { event: 'transcript:read', data: { session_id } }]
  }

  async #read(path: string, event: string, data: unknown): Promise<readonly HostEvent[]> {
    const { lines, vain } = this.#transcriptOf(path, idOf(peek(data, 'session_id')) ?? '')
    const agentId = idOf(peek(data, 'agent_id'))
    const patience = (vain.get(event) ?? 0) < OFTEN ? PATIENCE_MILLIS : LESS_PATIENCE_MILLIS
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      await this.#readFile(path, lines)
      if (agentId !== undefined) await this.#readFile(agentFile(path, agentId), lines)
      const isEnough = this.#isEnough(lines, event, data)
      if (!isEnough && waited < patience) {
        await this.#world.wait(LOOK_MILLIS)
        continue
      }
      vain.set(event, isEnough ? 0 : (vain.get(event) ?? 0) + 1)
      if (event === 'Stop' || event === 'SubagentStop') lines.forgetText(agentId)
      return lines.take()
    }
  }

  #isEnough(lines: TranscriptLines, event: string, data: unknown): boolean {
    const agentId = idOf(peek(data, 'agent_id'))
    const call = event === 'PreToolUse' ? data : firstOf(peek(data, 'tool_calls'))
    if (event === 'PreToolUse' || event === 'PostToolBatch') {
      return lines.knows(idOf(peek(call, 'tool_call_id')) ?? '', agentId)
    }
    if (event !== 'Stop' && event !== 'SubagentStop') return true
    const said = textOf(peek(data, 'last_assistant_message'))?.trim()
    return said === undefined || lines.lastText(agentId)?.trim() === said
  }

  async #readFile(path: string | undefined, lines: TranscriptLines): Promise<void> {
    const file = path === undefined ? undefined : await openAgentFile(path, this.#world.place, PART)
    if (path === undefined || file === undefined) return
    const reader = this.#readers.get(path) ?? new AppendedLineReader()
    this.#readers.set(path, reader)
    try {
      // A file that is read again yields its lines again; the machine recognises them by their ids.
      await reader.readNewLines(
        file,
        line => lines.line(line),
        () => undefined,
      )
    } finally {
      await file.close()
    }
  }

  #transcriptOf(path: string, sessionId: string): Transcript {
    const known = this.#transcripts.get(path) ?? { lines: new TranscriptLines(sessionId), vain: new Map() }
    this.#transcripts.set(path, known)
    return known
  }
}

function firstOf(calls: unknown): unknown {
  return elementsOf(calls, 1)[0]
}

/** The session's file is `<project>/chats/<session>.jsonl`, a child's `<project>/subagents/<session>/agent-<id>.jsonl`. */
function agentFile(transcript: string, agentId: string): string | undefined {
  const session = basename(transcript, ENDING)
  if (!ID.test(agentId) || !ID.test(session)) return undefined
  return join(dirname(dirname(transcript)), 'subagents', session, `agent-${agentId}${ENDING}`)
}

export function createQwenInlet(world: AdapterEnvironment): ReceiverAdapter {
  return new QwenInlet(world)
}

/** @param env environment of the reading process */
function qwenPlace(env: Readonly<Record<string, string | undefined>>): AgentFolders {
  const own = [env['QWEN_HOME'], env['QWEN_RUNTIME_DIR']].map(folder => folder?.trim() ?? '').filter(isAbsolute)
  return { folders: [join(homedir(), '.qwen'), ...own].map(folder => normalize(folder)), uid: process.getuid?.() }
}

export const qwen: ReceiverAdapter = createQwenInlet({ place: qwenPlace(process.env), wait: sleep })
