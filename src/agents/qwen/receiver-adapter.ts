import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { AppendedLineReader, agentFolders, ID_IN_PATH, openAgentFile } from '../base/agent-file.ts'
import { plausibleTime, timestampOf } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { READS_FIRST } from '../claude-code/events.ts'
import type { HostEvent } from '../host-event.ts'
import type { AdapterEnvironment, HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { QwenTranscript } from './transcript.ts'

const CALLS_LIMIT = 10_000
const BATCH_LIMIT = 1000
const ENDS: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'])
/**
 * Transcripts lag behind the hooks, usually by some hundredths of a second, on a busy machine by seconds. The wait does not delay
 * the agent.
 */
const PATIENCE_MILLIS = 3000
const LESS_PATIENCE_MILLIS = 100
const OFTEN = 3
const LOOK_MILLIS = 20
const SESSIONS_LIMIT = 200
const FILES_LIMIT = 500
const PART = 'projects'
const ENDING = '.jsonl'

interface Transcript {
  readonly lines: QwenTranscript
  readonly vain: Map<string, number>
}

export class QwenAdapter implements ReceiverAdapter {
  readonly #environment: AdapterEnvironment
  readonly #transcripts = new LimitedMap<string, Transcript>(SESSIONS_LIMIT)
  readonly #readers = new LimitedMap<string, AppendedLineReader>(FILES_LIMIT)
  readonly #hooks = new QwenReceivedHooks()

  constructor(environment: AdapterEnvironment) {
    this.#environment = environment
  }

  events({ body, at }: HookDelivery): readonly HostEvent[] {
    const event = textOf(peek(body, 'hook_event_name'))
    if (event === undefined || event.startsWith('transcript:')) return []
    this.#hooks.noteHook(event, body)
    return [{ event, at: plausibleTime(timestampOf(body), at), data: body }]
  }

  get lostHooks(): number {
    return this.#hooks.lost
  }

  async enrich({ event, data }: HostEvent): Promise<readonly HostEvent[]> {
    const session_id = idOf(peek(data, 'session_id'))
    if (!READS_FIRST.has(event) || session_id === undefined) return []
    const path = textOf(peek(data, 'transcript_path'))
    const found = path === undefined ? [] : await this.#read(path, event, data).catch(() => [])
    return [...found, { event: 'transcript:read', data: { session_id } }]
  }

  async #read(path: string, event: string, data: unknown): Promise<readonly HostEvent[]> {
    const { lines, vain } = this.#transcripts.recall(path, () => {
      return { lines: new QwenTranscript(idOf(peek(data, 'session_id')) ?? ''), vain: new Map() }
    })
    const agentId = idOf(peek(data, 'agent_id'))
    const patience = (vain.get(event) ?? 0) < OFTEN ? PATIENCE_MILLIS : LESS_PATIENCE_MILLIS
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      await this.#readFile(path, lines)
      if (agentId !== undefined) await this.#readFile(agentFile(path, agentId), lines)
      const isEnough = this.#isEnough(lines, event, data)
      if (!isEnough && waited < patience) {
        await this.#environment.wait(LOOK_MILLIS)
        continue
      }
      vain.set(event, isEnough ? 0 : (vain.get(event) ?? 0) + 1)
      if (event === 'Stop' || event === 'SubagentStop') lines.resetText(agentId)
      return lines.drain()
    }
  }

  #isEnough(lines: QwenTranscript, event: string, data: unknown): boolean {
    const agentId = idOf(peek(data, 'agent_id'))
    const call = event === 'PreToolUse' ? data : elementsOf(peek(data, 'tool_calls'), 1)[0]
    if (event === 'PreToolUse' || event === 'PostToolBatch') {
      return lines.hasAnswerOf(idOf(peek(call, 'tool_call_id')) ?? '', agentId)
    }
    if (event !== 'Stop' && event !== 'SubagentStop') return true
    const said = textOf(peek(data, 'last_assistant_message'))?.trim()
    return said === undefined || lines.lastText(agentId)?.trim() === said
  }

  async #readFile(path: string | undefined, lines: QwenTranscript): Promise<void> {
    if (path === undefined) return
    const reader = this.#readers.recall(path, () => new AppendedLineReader())
    // A file that is read again yields its lines again; the machine recognises them by their ids.
    await reader.readFrom(openAgentFile(path, this.#environment.place, PART), line => lines.addLine(line))
  }
}

/** Tracks received hooks of tool calls, and counts those that must have fired and never arrived. */
class QwenReceivedHooks {
  readonly #calls = new LimitedMap<string, boolean>(CALLS_LIMIT)
  readonly #agents = new LimitedMap<string, true>(CALLS_LIMIT)
  lost = 0

  noteHook(event: string, data: unknown): void {
    const callId = idOf(peek(data, 'tool_call_id'))
    const agentId = idOf(peek(data, 'agent_id'))
    if (event === 'PreToolUse' && callId !== undefined && !this.#calls.has(callId)) this.#calls.set(callId, false)
    if (ENDS.has(event) && callId !== undefined && this.#calls.has(callId)) this.#calls.set(callId, true)
    if (event === 'PostToolBatch') this.#endBatch(data)
    if (agentId !== undefined) this.#noteAgent(event, agentId)
  }

  /** Counts missing end hooks: a tool that succeeded has fired one. */
  #endBatch(data: unknown): void {
    for (const call of elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT)) {
      const id = idOf(peek(call, 'tool_call_id'))
      if (id === undefined || peek(call, 'status') !== 'success' || this.#calls.get(id) !== false) continue
      this.#calls.set(id, true)
      this.lost += 1
    }
  }

  /** Counts missing start hooks of child agents. An agent's id ends with that of its call. */
  #noteAgent(event: string, agentId: string): void {
    if (this.#agents.has(agentId)) return
    this.#agents.set(agentId, true)
    if (event === 'SubagentStart') return
    if ([...this.#calls.keys()].some(callId => agentId.endsWith(`-${callId}`))) this.lost += 1
  }
}

/** The session's file is `<project>/chats/<session>.jsonl`, a child's `<project>/subagents/<session>/agent-<id>.jsonl`. */
function agentFile(transcript: string, agentId: string): string | undefined {
  const session = basename(transcript, ENDING)
  if (!ID_IN_PATH.test(agentId) || !ID_IN_PATH.test(session)) return undefined
  return join(dirname(dirname(transcript)), 'subagents', session, `agent-${agentId}${ENDING}`)
}

export const qwen: ReceiverAdapter = new QwenAdapter({
  place: agentFolders(['QWEN_HOME', 'QWEN_RUNTIME_DIR'], '.qwen'),
  wait: sleep,
})
