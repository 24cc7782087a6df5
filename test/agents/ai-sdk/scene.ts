import { AiSdkMachine } from '../../../src/agents/ai-sdk/events.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import { type Replayed, replayEvents } from '../replay-fixture.ts'

const START_AT = 1_795_256_100_000
const STEP_MILLIS = 10
const USAGE = {
  inputTokens: 120,
  inputTokenDetails: { noCacheTokens: 100, cacheReadTokens: 20 },
  outputTokens: 17,
  outputTokenDetails: { textTokens: 14, reasoningTokens: 3 },
}

export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: object
}

export const PARIS: ToolCall = { toolCallId: 'c1', toolName: 'get_weather', input: { city: 'Paris' } }
export const DELETE: ToolCall = { toolCallId: 'c2', toolName: 'delete_file', input: { path: '/a' } }

/** What the SDK says, as a story: each word 10 ms after the one before. */
export class Scene {
  readonly events: HostEvent[] = []
  #at = START_AT

  /** Nothing happens. */
  waits(millis: number): this {
    this.#at += millis
    return this
  }

  says(callId: string, event: string, data: object = {}, context?: object): this {
    this.#at += STEP_MILLIS
    this.events.push({ event, at: this.#at, data: { callId, ...data }, ...(context === undefined ? {} : { context }) })
    return this
  }

  starts(callId: string, data: object = {}, context?: object): this {
    const asked = { messages: [{ role: 'user', content: 'Hi' }], operationId: 'ai.generateText', maxRetries: 2 }
    return this.says(callId, 'onStart', { provider: 'fake.chat', modelId: 'fake-1', ...asked, ...data }, context)
  }

  asks(callId: string): this {
    return this.says(callId, 'onStepStart').requests(callId)
  }

  requests(callId: string): this {
    const data = { provider: 'fake.chat', modelId: 'fake-1', messages: [{ role: 'user', content: 'Hi' }] }
    return this.says(callId, 'onLanguageModelCallStart', data).says(callId, 'attemptStart')
  }

  answers(callId: string, content: readonly object[] = [{ type: 'text', text: 'Done.' }]): this {
    return this.says(callId, 'onLanguageModelCallEnd', { finishReason: 'stop', usage: USAGE, content })
  }

  ends(callId: string): this {
    return this.says(callId, 'onStepEnd', { content: [] }).says(callId, 'onEnd', { text: 'Done.' })
  }

  /** A step that asks for tools and has not run them yet. */
  calls(callId: string, ...calls: readonly ToolCall[]): this {
    return this.asks(callId).answers(
      callId,
      calls.map(call => ({ type: 'tool-call', ...call })),
    )
  }

  tool(callId: string, toolCall: ToolCall): this {
    return this.says(callId, 'onToolExecutionStart', { toolCall }).says(callId, 'onToolExecutionEnd', {
      toolCall,
      toolOutput: { type: 'tool-result', output: 'ok' },
    })
  }

  /** What the machine makes of it. */
  records(): HookRecord[] {
    const machine = new AiSdkMachine()
    return this.events.flatMap(event => machine.accept(event) ?? [])
  }

  play(): Promise<Replayed> {
    return replayEvents('ai-sdk', this.events)
  }
}

/** A call from its start to its end. */
export function whole(callId: string, data: object = {}): Scene {
  return new Scene().starts(callId, data).asks(callId).answers(callId).ends(callId)
}

const HOOK = {
  turn_id: 'a',
  tool_call_id: PARIS.toolCallId,
  hook_run_id: 'h',
  hook_name: 'h',
  hook_phase: 'before_tool',
}
const hooked = new Scene().starts('a').calls('a', PARIS).says('a', 'pre_control_hook', HOOK)
hooked
  .says('a', 'post_control_hook', { ...HOOK, verdict: 'pass' })
  .tool('a', PARIS)
  .ends('a')

/** A call with control hooks. */
export const hookedCall: readonly HostEvent[] = hooked.events
