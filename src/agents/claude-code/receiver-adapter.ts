import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { AgentFolders } from '../base/agent-file.ts'
import { FileAdapter, type Findings, ownEnvironment, pollUntil, type ReadTrigger } from '../base/file-adapter.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { HostEvent } from '../host-event.ts'
import type { HookDelivery, ReceiverAdapter } from '../receiver-adapter.ts'
import { READS_FIRST, READS_IF_UNKNOWN, type TranscriptToolResult } from './events.ts'
import { ABSENT_PATIENCE_MILLIS, agentFile, type CancelledHook, ClaudeTranscript, openFile } from './transcript.ts'

/** A hook that has timed out does not arrive after this time. */
const LATEST_MILLIS = 2000
const TOLERANCE_MILLIS = 50
const ENDS_OF_TOOL = ['PostToolUse', 'PostToolUseFailure'] as const
const OF_TOOL: ReadonlySet<string> = new Set(['PreToolUse', 'PermissionDenied', ...ENDS_OF_TOOL])
const OUR_COMMAND = /[/ ]claude-code$/

/** Counts hooks that timed out and have not arrived, not even late. Those before the first one were sent to another process. */
class ReceivedHooks {
  readonly #at = new LimitedMap<string, number>(20_000)
  #timedOut: { readonly key: string; readonly firedAt: number }[] = []
  #since = Number.POSITIVE_INFINITY
  #lost = 0

  get lost(): number {
    return this.#lost + this.#missing().length
  }

  noteHook(event: string, at: number, data: unknown): void {
    this.#since = Math.min(this.#since, at)
    const owner = { session_id: idOf(peek(data, 'session_id')) ?? '', agent_id: idOf(peek(data, 'agent_id')) }
    this.#at.set(keyOf(event, owner, idOf(peek(data, 'tool_use_id'))), at)
  }

  hasEnd(owner: FindingOwner, callId: string): boolean {
    return ENDS_OF_TOOL.some(event => this.#at.has(keyOf(event, owner, callId)))
  }

  /** Adds hooks that timed out; they may have arrived, or may still arrive. @param at time of the current hook */
  addTimedOut(cancelled: readonly CancelledHook[], owner: FindingOwner, at: number): void {
    for (const { event, callId, command, firedAt } of cancelled) {
      const isOurs = command === undefined ? OF_TOOL.has(event) : OUR_COMMAND.test(command)
      if (isOurs && firedAt >= this.#since) this.#timedOut.push({ key: keyOf(event, owner, callId), firedAt })
    }
    const missing = this.#missing()
    this.#timedOut = missing.filter(({ firedAt }) => at < firedAt + LATEST_MILLIS).slice(-1000)
    this.#lost += missing.length - this.#timedOut.length
  }

  #missing() {
    return this.#timedOut.filter(({ key, firedAt }) => (this.#at.get(key) ?? 0) < firedAt - TOLERANCE_MILLIS)
  }
}

function keyOf(event: string, { session_id, agent_id = '' }: FindingOwner, callId: string | undefined): string {
  return `${session_id} ${agent_id} ${event} ${OF_TOOL.has(event) ? callId : ''}`
}

const META_BYTES = 64 * 1024

export class ClaudeCodeAdapter extends FileAdapter {
  protected readonly prefix = 'transcript:'
  protected readonly readsFirst: ReadonlySet<string> = READS_FIRST
  readonly #files = new LimitedMap<string, ClaudeTranscript>(200)
  /**
   * Turns with received hooks; true if the prompt's hook was received. Needed because a transcript contains all earlier turns as
   * well.
   */
  readonly #prompts = new LimitedMap<string, boolean>(1000)

  readonly #calls = new LimitedMap<string, true>(10_000)
  readonly #linkedAgents = new LimitedMap<string, true>(10_000)
  readonly #hooks = new ReceivedHooks()

  override events(delivery: HookDelivery): readonly HostEvent[] {
    const { traceparent } = delivery.headers
    return super.events(delivery).map(hook => {
      const prompt = promptOf(hook)
      const isReceived = hook.event === 'UserPromptSubmit' || this.#prompts.get(prompt ?? '') === true
      if (prompt !== undefined) this.#prompts.set(prompt, isReceived)
      this.#hooks.noteHook(hook.event, hook.at ?? delivery.at, hook.data)
      return traceparent === undefined ? hook : { ...hook, context: { traceparent } }
    })
  }

  get lostHooks(): number {
    return this.#hooks.lost
  }

  protected override isReadFirst(event: string, data: unknown): boolean {
    const callId = idOf(peek(data, 'tool_use_id'))
    const isUnknown = callId !== undefined && !this.#calls.has(callId)
    if (isUnknown) this.#calls.set(callId, true)
    return super.isReadFirst(event, data) || (isUnknown && READS_IF_UNKNOWN.has(event))
  }

  protected async read(trigger: ReadTrigger): Promise<Findings | undefined> {
    const { event, at, data, owner, path: transcript } = trigger
    const { agent_id } = owner
    if (event === 'SubagentStart') return { found: await this.#findAgentCall(trigger, ABSENT_PATIENCE_MILLIS) }
    const path = agent_id === undefined ? transcript : agentFile(transcript, agent_id, '.jsonl')
    if (path === undefined) return undefined
    const join = agent_id === undefined || this.#linkedAgents.has(agent_id) ? [] : await this.#findAgentCall(trigger, 0)
    const lines = this.#fileOf(path, owner)
    await lines.readUntil(event, this.environment, () => {
      lines.advance(at, event === 'Stop')
      return this.#isEnough(lines, trigger)
    })
    const goes_on = (event === 'Stop' && lines.goesOn) || undefined
    const callId = idOf(peek(data, 'tool_use_id'))
    const taken = callId === undefined ? lines.drain() : lines.drainFor(callId)
    const late = lines.isThere && this.#lacksRequest(lines, trigger) ? [guessedRequest(lines, trigger)] : []
    const found = agent_id === undefined ? await this.#newFindings(taken, trigger) : this.#childFindings(taken)
    this.#hooks.addTimedOut(lines.cancelledHooks.splice(0), owner, at)
    if (event === 'PostToolBatch') lines.askedAt = Math.max(lines.askedAt, at)
    const lateFindings = agent_id === undefined ? await this.#readLateLines(trigger) : []
    return { found: [...join, ...found, ...late, ...lateFindings], goes_on, branch: lines.branch }
  }

  #isEnough(lines: ClaudeTranscript, { event, data, owner }: ReadTrigger): boolean {
    const callId = idOf(peek(data, 'tool_use_id'))
    if (callId !== undefined) return lines.hasRequestOf(callId)
    if (event === 'PostToolBatch')
      return callsOf(data).every(id => lines.hasAnswerOf(id, !this.#hooks.hasEnd(owner, id)))
    if (event === 'Stop') return lines.isStopped
    const isEnd = event === 'StopFailure' || event === 'SubagentStop'
    return !isEnd || lines.lastText?.trim() === textOf(peek(data, 'last_assistant_message'))?.trim()
  }

  #lacksRequest(lines: ClaudeTranscript, { event, data }: ReadTrigger): boolean {
    const callId = idOf(peek(data, 'tool_use_id'))
    if (callId !== undefined) return !lines.hasRequestOf(callId)
    return event === 'PostToolBatch' && callsOf(data).some(id => !this.#calls.has(id) && !lines.hasAnswerOf(id, false))
  }

  /** Everything else about a child is known from its hooks and its parent. */
  #childFindings(taken: readonly HostEvent[]): HostEvent[] {
    return taken.filter(one => REQUEST_FINDING.test(one.event) || this.#isMissed(one))
  }

  #isMissed({ event, data }: HostEvent): boolean {
    const result = data as TranscriptToolResult
    return event === RESULT && !this.#hooks.hasEnd(result, result.tool_use_id)
  }

  async #readLateLines({ event, at, owner }: ReadTrigger): Promise<HostEvent[]> {
    if (!END_HOOKS.has(event)) return []
    const found: HostEvent[] = []
    for (const file of this.#files.values()) {
      if (!file.hasPendingLines || file.owner.session_id !== owner.session_id) continue
      found.push(...(await this.#readRest(file, at)))
    }
    return found
  }

  /** Filters findings to turns with received hooks and the turn before them, which an earlier receiver may have left open. */
  async #newFindings(taken: readonly HostEvent[], { event, data, path }: ReadTrigger): Promise<HostEvent[]> {
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
      if (one.event === RESULT) found.push(...(await this.#readUnseenChild(one.data as TranscriptToolResult, path)))
      found.push(one)
    }
    return found
  }

  /** Reads a child agent for which no hook was received, using its result in the parent's transcript. */
  async #readUnseenChild(result: TranscriptToolResult, transcript: string | undefined): Promise<HostEvent[]> {
    const { session_id, tool_use_id, at, response } = result
    const agent_id = idOf(peek(response, 'agentId'))
    const path = agentFile(transcript, agent_id, '.jsonl')
    if (agent_id === undefined || path === undefined || this.#linkedAgents.has(agent_id)) return []
    this.#linkedAgents.set(agent_id, true)
    const join = { event: 'transcript:agent', data: { session_id, agent_id, tool_use_id } }
    return [join, ...(await this.#readRest(this.#fileOf(path, { session_id, agent_id }), at))]
  }

  async #readRest(file: ClaudeTranscript, at: number): Promise<HostEvent[]> {
    await file.readRest(this.environment)
    this.#hooks.addTimedOut(file.cancelledHooks.splice(0), file.owner, at)
    return this.#childFindings(file.drain())
  }

  #fileOf(path: string, owner: FindingOwner): ClaudeTranscript {
    return this.#files.recall(path, () => new ClaudeTranscript(owner, path))
  }

  async #findAgentCall({ owner: { session_id, agent_id }, path }: ReadTrigger, patience: number): Promise<HostEvent[]> {
    const metaFile = agentFile(path, agent_id, '.meta.json')
    if (agent_id === undefined || metaFile === undefined) return []
    let tool_use_id: string | undefined
    const look = async (): Promise<boolean> => {
      tool_use_id = await readAgentCall(metaFile, this.environment.place)
      return tool_use_id !== undefined
    }
    if (!(await pollUntil(look, () => patience, this.environment))) return []
    this.#linkedAgents.set(agent_id, true)
    return [{ event: 'transcript:agent', data: { session_id, agent_id, tool_use_id } }]
  }
}

const END_HOOKS: ReadonlySet<string> = new Set(['Stop', 'UserPromptSubmit', 'SessionEnd'])
const REQUEST_FINDING = /^transcript:(?:request|response|failure)$/
const RESULT = 'transcript:result'

function promptOf({ data }: HostEvent): string | undefined {
  return idOf(peek(data, 'prompt_id'))
}

/** A request that is not yet in the transcript; its tool call proves that it exists. */
function guessedRequest(lines: ClaudeTranscript, { data, owner }: ReadTrigger): HostEvent {
  const started_at = lines.askedAt === 0 ? undefined : lines.askedAt
  const prompt_id = idOf(peek(data, 'prompt_id'))
  return { event: 'transcript:request', data: { ...owner, prompt_id, started_at, start_is_guessed: true } }
}

function callsOf(data: unknown): string[] {
  return elementsOf(peek(data, 'tool_calls')).flatMap(call => idOf(peek(call, 'tool_use_id')) ?? [])
}

async function readAgentCall(path: string, place: AgentFolders): Promise<string | undefined> {
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

export const claudeCode: ReceiverAdapter = new ClaudeCodeAdapter(ownEnvironment(['CLAUDE_CONFIG_DIR'], '.claude'))
