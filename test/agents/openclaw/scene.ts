import type { HostEvent } from '../../../src/agents/host-event.ts'
import { OpenClawMachine } from '../../../src/agents/openclaw/events.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../../src/testing.ts'

export const START_AT = 1_795_256_100_000
const STEP_MILLIS = 10
const USAGE = { input: 100, output: 17, cacheRead: 20, cacheWrite: 0, reasoningTokens: 3, totalTokens: 137 }
const RUN_USAGE = { input: 200, output: 34, cacheRead: 40, cacheWrite: 0, reasoningTokens: 6, total: 274 }
const MODEL = { provider: 'fake', model: 'fake-1' }

export interface Call {
  readonly id: string
  readonly name: string
  readonly args?: object
}

export interface SceneOptions {
  readonly at?: number
  /** Session key, where it is not made of the id. */
  readonly key?: string
  /** What a host does not tell: `conversation` without the permission, `agent` without its agent events. */
  readonly without?: readonly ('conversation' | 'agent' | 'message')[]
}

export const exec: Call = { id: 'call_1', name: 'exec', args: { command: 'ls' } }

/** What OpenClaw says, as a story: each word 10 ms after the one before. */
export class Scene {
  readonly events: HostEvent[] = []
  readonly #sessionId: string
  readonly #sessionKey: string
  readonly #without: ReadonlySet<string>
  #at: number
  #run = ''
  #runs = 0
  #calls = 0
  #startedAt = 0

  constructor(session = 's1', { at = START_AT, key = `agent:main:${session}`, without = [] }: SceneOptions = {}) {
    this.#sessionId = session
    this.#sessionKey = key
    this.#without = new Set(without)
    this.#at = at
  }

  get now(): number {
    return this.#at
  }

  /** Nothing happens. */
  waits(millis: number): this {
    this.#at += millis
    return this
  }

  says(event: string, data: object = {}, context: object = {}): this {
    this.#at += STEP_MILLIS
    this.events.push({ event, at: this.#at, data, context })
    return this
  }

  /** Hooks that need the permission to see conversations. */
  #confides(event: string, data: object = {}): this {
    if (this.#without.has('conversation')) return this.waits(STEP_MILLIS)
    return this.says(event, { ...data, runId: this.#run, sessionId: this.#sessionId }, this.#place())
  }

  agent(stream: string, data: object): this {
    if (this.#without.has('agent')) return this.waits(STEP_MILLIS)
    return this.says('AGENT_EVENT', { stream, runId: this.#run, data, sessionKey: this.#sessionKey })
  }

  #place(): object {
    return {
      runId: this.#run,
      sessionKey: this.#sessionKey,
      sessionId: this.#sessionId,
      agentId: 'main',
      modelProviderId: MODEL.provider,
      modelId: MODEL.model,
      trigger: 'user',
    }
  }

  #writes(message: object): this {
    if (this.#without.has('message')) return this.waits(STEP_MILLIS)
    const timestamp = this.#startedAt + 1
    const context = { agentId: 'main', sessionKey: this.#sessionKey }
    return this.says('before_message_write', { message: { timestamp, ...message } }, context)
  }

  /** A run of the agent begins. */
  prompted(prompt: string, run = `${this.#sessionId}-run-${this.#runs + 1}`): this {
    this.#runs += 1
    this.#run = run
    this.#calls = 0
    return this.#confides('before_model_resolve', { prompt }).attempts(prompt)
  }

  /** An attempt of the run, the first or a later one. It counts its calls anew. */
  attempts(prompt = 'Continue'): this {
    this.#calls = 0
    const tools = ['read', 'exec']
    const told = { ...MODEL, systemPrompt: 'Be brief', prompt, historyMessages: [], tools }
    return this.#confides('llm_input', told)
      .agent('lifecycle', { phase: 'start', startedAt: this.#at })
      .#writes({ role: 'user', content: prompt })
  }

  /** A model call begins. */
  asks(): this {
    this.#calls += 1
    return this.says('model_call_started', this.#callFacts(), this.#place()).#started()
  }

  #started(): this {
    this.#startedAt = this.#at
    return this
  }

  #callFacts(): object {
    const callId = `${this.#run}:model:${this.#calls}`
    const place = { sessionKey: this.#sessionKey, sessionId: this.#sessionId }
    return { ...MODEL, ...place, runId: this.#run, callId, api: 'openai-completions' }
  }

  stops(outcome = 'completed', more: object = {}): this {
    const durationMs = STEP_MILLIS
    return this.says('model_call_ended', { ...this.#callFacts(), durationMs, outcome, ...more }, this.#place())
  }

  /** The message of a call. */
  message(content: readonly object[], stopReason: string, more: object = {}): this {
    return this.#writes({ role: 'assistant', content, ...MODEL, usage: USAGE, stopReason, responseId: 'r1', ...more })
  }

  answers(text = 'Done.'): this {
    return this.asks()
      .stops()
      .message([{ type: 'text', text }], 'stop')
  }

  calls(...calls: readonly Call[]): this {
    const content = calls.map(({ id, name, args = {} }) => ({ type: 'toolCall', id, name, arguments: args }))
    return this.asks().stops().message(content, 'toolUse')
  }

  /** A model call that fails, and with it the attempt: which the host calls a success. */
  fails(status = 500): this {
    const more = { errorMessage: `${status} fake boom`, errorCode: `${status}`, errorType: 'server_error', usage: {} }
    return this.asks()
      .stops('error', { errorCategory: 'Error' })
      .message([], 'error', more)
      .agent('lifecycle', { phase: 'finishing', error: 'LLM request failed', endedAt: this.#at })
      .#confides('agent_end', { success: true, messages: [] })
      .#confides('llm_output', { ...MODEL, assistantTexts: [] })
  }

  /** After a failure, another attempt. */
  retries(): this {
    const data = { phase: 'retrying', retryAttempt: 1, maxRetries: 8, delayMs: 1000, reason: 'server_error' }
    return this.agent('run_status', data).waits(1000).attempts()
  }

  toolStarts({ id, name, args = {} }: Call, parentToolCallId?: string): this {
    const item = { toolCallId: id, name, kind: 'tool', phase: 'start', startedAt: this.#at }
    const data = { runId: this.#run, toolCallId: id, toolName: name, params: args }
    return this.agent('item', item)
      .agent('tool', { phase: 'start', name, toolCallId: id, args, parentToolCallId })
      .says('before_tool_call', data, this.#place())
  }

  /** @param status the host's word: completed, failed, blocked */
  toolEnds({ id, name, args = {} }: Call, status: string, text: string, details: object = {}): this {
    const isError = status !== 'completed'
    const result = { content: [{ type: 'text', text }], details }
    const error = isError ? text : undefined
    const item = { toolCallId: id, name, kind: 'tool', phase: 'end', status, error, endedAt: this.#at }
    const data = { runId: this.#run, toolCallId: id, toolName: name, params: args, result, error, durationMs: 20 }
    return this.agent('tool', { phase: 'result', name, toolCallId: id, isError, result })
      .agent('item', item)
      .says('after_tool_call', data, this.#place())
      .#writes({ role: 'toolResult', toolCallId: id, toolName: name, isError, ...result })
  }

  tool(call: Call, status = 'completed', text = 'hi'): this {
    return this.toolStarts(call).toolEnds(call, status, text)
  }

  /** The run is over, and went well. */
  ends(): this {
    const end = { phase: 'end', aborted: false, stopReason: 'stop', executionSettled: true, endedAt: this.#at }
    return this.#confides('before_agent_finalize')
      .#confides('agent_end', { success: true, messages: [] })
      .#confides('llm_output', { ...MODEL, assistantTexts: ['Done.'], usage: RUN_USAGE })
      .agent('lifecycle', end)
  }

  givesUp(): this {
    const data = { phase: 'error', error: 'LLM request failed', errorObservation: { failoverReason: 'server_error' } }
    return this.agent('lifecycle', { ...data, executionSettled: true, endedAt: this.#at })
  }

  aborts(): this {
    return this.agent('lifecycle', { phase: 'end', aborted: true, stopReason: 'aborted', executionSettled: true })
  }

  /** A child agent is asked for. */
  spawns(childSessionKey: string, label = 'helper'): this {
    const data = { runId: `run of ${childSessionKey}`, childSessionKey, agentId: 'main', label, mode: 'run' }
    return this.says('subagent_spawned', data, { childSessionKey, requesterSessionKey: this.#sessionKey })
  }

  hearsOf(targetSessionKey: string, outcome = 'ok', endedAt: number = this.#at): this {
    const data = { targetSessionKey, targetKind: 'subagent', reason: 'subagent-complete', endedAt, outcome }
    return this.says('subagent_ended', data, { childSessionKey: targetSessionKey })
  }

  closes(reason: string, more: object = {}): this {
    const place = { sessionId: this.#sessionId, sessionKey: this.#sessionKey }
    return this.says('session_end', { ...place, messageCount: 0, reason, ...more }, place)
  }
}

export function recordsOf(events: readonly HostEvent[], isEnded = true): HookRecord[] {
  const machine = new OpenClawMachine()
  const records = events.flatMap(event => machine.accept(event) ?? [])
  return isEnded ? [...records, ...machine.end(events.at(-1)?.at ?? START_AT)] : records
}

/** A plugin that was told them, and is not shut down. */
export function played(events: readonly HostEvent[]): TestPlugin {
  const plugin = createTestPlugin({ host: 'openclaw', content_capture: 'full' })
  for (const { hook, payload, ...meta } of recordsOf(events)) plugin.on(hook, payload, meta)
  return plugin
}

const SHOWN = ['hermes.turn.final_status', 'hermes.tool.outcome', 'hermes.approval.choice']

export function treeOf(scene: Scene | readonly HostEvent[]): string {
  return played(scene instanceof Scene ? scene.events : scene).tree({ attributes: SHOWN })
}

/** Several stories at the same time, by their clocks. */
export function together(...scenes: readonly Scene[]): HostEvent[] {
  return scenes.flatMap(({ events }) => events).toSorted((one, two) => (one.at ?? 0) - (two.at ?? 0))
}

type Deed = (scene: Scene, call: Call) => Scene

export const OPENCLAW_DEEDS: Readonly<Record<string, Deed>> = {
  answer: scene => scene.answers(),
  tool: (scene, call) => scene.calls(call).tool(call),
  failed: (scene, call) => scene.calls(call).tool(call, 'failed', 'not found'),
  refused: (scene, call) =>
    scene.calls(call).toolStarts(call).toolEnds(call, 'blocked', 'Tool call blocked', { deniedReason: 'policy' }),
  nested: (scene, call) => {
    const inner = { id: `inner of ${call.id}`, name: 'sessions_list' }
    return scene.calls(call).toolStarts(call).tool(inner).toolEnds(call, 'completed', 'none')
  },
  retry: scene => scene.fails().retries(),
  late: scene =>
    scene
      .asks()
      .message([{ type: 'text', text: 'quick' }], 'stop')
      .stops(),
  compacted: scene =>
    scene.says('before_compaction', { messageCount: 9 }).says('after_compaction', { messageCount: 2 }),
}

/** Runs in which everything ends as it should, one of them with a child agent. */
export function openClawStory(
  session: string,
  deeds: readonly (readonly string[])[],
  options: SceneOptions = {},
): HostEvent[] {
  const scene = new Scene(session, options)
  deeds.forEach((turn, number) => {
    scene.prompted(`prompt ${number}`)
    turn.forEach((deed, index) => {
      OPENCLAW_DEEDS[deed]?.(scene, { id: `${session}_${number}_${index}`, name: 'exec' })
    })
    scene.answers().ends()
  })
  return scene.closes('idle').events
}

/** The same, and then a child agent that outlives the turn in which it was asked for. */
export function openClawFamily(session: string, deeds: readonly (readonly string[])[]): HostEvent[] {
  const key = `child of ${session}`
  const spawn = { id: `${session}_spawn`, name: 'sessions_spawn', args: { label: 'helper' } }
  const parent = new Scene(session).prompted('Ask').calls(spawn).toolStarts(spawn).spawns(key)
  parent.toolEnds(spawn, 'completed', 'accepted')
  const child = openClawStory(`${session}-child`, deeds, { key, at: parent.now + 1 }).filter(
    ({ event }) => event !== 'session_end',
  )
  parent.answers().ends()
  const at = Math.max(parent.now, child.at(-1)?.at ?? 0)
  const end = new Scene(session, { at }).hearsOf(key).closes('idle')
  return [...parent.events, ...child, ...end.events].toSorted((one, two) => (one.at ?? 0) - (two.at ?? 0))
}
