import type { HostEvent } from '../../../src/agents/host-event.ts'
import { PiMachine } from '../../../src/agents/pi/events.ts'
import type { HookRecord } from '../../../src/contract/index.ts'
import { createTestPlugin, type TestPlugin } from '../../../src/testing.ts'

export const START_AT = 1_795_256_100_000
const STEP_MILLIS = 10
const USAGE = { input: 100, output: 17, cacheRead: 20, cacheWrite: 0, reasoning: 3, totalTokens: 137 }

export interface Call {
  readonly id: string
  readonly name: string
}

export const bash: Call = { id: 'call_1', name: 'bash' }

/** What Pi says, as a story: each word 10 ms after the one before. */
export class Scene {
  readonly events: HostEvent[] = []
  readonly #session: string
  readonly #mode: string
  #at: number

  constructor(session = 's1', { at = START_AT, mode = 'rpc' }: { at?: number; mode?: string } = {}) {
    this.#session = session
    this.#mode = mode
    this.#at = at
  }

  /** Nothing happens. */
  waits(millis: number): this {
    this.#at += millis
    return this
  }

  says(event: string, data: object = {}, context: object = {}): this {
    this.#at += STEP_MILLIS
    const model = { provider: 'fake', id: 'fake-1', api: 'openai-completions' }
    const place = { sessionId: this.#session, model, hasUI: false, mode: this.#mode, ...context }
    this.events.push({ event, at: this.#at, data: { type: event, ...data }, context: place })
    return this
  }

  starts(reason = 'startup', more: object = {}): this {
    return this.says('session_start', { reason, ...more })
  }

  prompted(prompt: string): this {
    return this.says('before_agent_start', { prompt }).runs()
  }

  runs(): this {
    return this.says('agent_start')
  }

  asksModel(): this {
    const payload = { model: 'fake-1', messages: [{ role: 'user', content: 'hi' }], stream: true }
    return this.says('turn_start', { turnIndex: 0 })
      .says('before_provider_headers', { headers: {} })
      .says('before_provider_request', { payload })
      .says('message_start', { message: { role: 'assistant', content: [], stopReason: 'pending' } })
  }

  modelSays(message: object): this {
    const common = { role: 'assistant', provider: 'fake', model: 'fake-1', usage: USAGE, stopReason: 'stop' }
    return this.says('message_end', { message: { ...common, ...message } })
  }

  answers(text = 'Done.'): this {
    return this.asksModel().modelSays({ content: [{ type: 'text', text }] })
  }

  calls(...calls: readonly Call[]): this {
    const content = calls.map(({ id, name }) => ({ type: 'toolCall', id, name, arguments: { command: 'ls' } }))
    return this.asksModel().modelSays({ content, stopReason: 'toolUse' })
  }

  fails(errorMessage = '500: {"message":"no"}'): this {
    return this.asksModel().modelSays({ content: [], usage: {}, stopReason: 'error', errorMessage })
  }

  toolStarts({ id, name }: Call, args: object = { command: 'ls' }): this {
    const call = { toolCallId: id, toolName: name }
    return this.says('tool_execution_start', { ...call, args }).says('tool_call', { ...call, input: args })
  }

  toolRan({ id, name }: Call, text = 'ok', isError = false): this {
    const content = [{ type: 'text', text }]
    return this.says('tool_result', { toolCallId: id, toolName: name, content, isError }).toolEnds(
      { id, name },
      text,
      isError,
    )
  }

  toolEnds({ id, name }: Call, text: string, isError: boolean, context: object = {}): this {
    const result = { content: [{ type: 'text', text }] }
    return this.says('tool_execution_end', { toolCallId: id, toolName: name, result, isError }, context)
  }

  tool(call: Call): this {
    return this.toolStarts(call).toolRan(call)
  }

  ends(): this {
    return this.says('agent_end', { messages: [] })
  }

  settles(data: object = {}): this {
    return this.ends().says('agent_settled', data)
  }

  quits(reason = 'quit'): this {
    return this.says('session_shutdown', { reason })
  }
}

/** Hook records that a machine makes of them. */
export function recordsOf(events: readonly HostEvent[], isEnded = true): HookRecord[] {
  const machine = new PiMachine()
  const records = events.flatMap(event => machine.accept(event) ?? [])
  return isEnded ? [...records, ...machine.end(events.at(-1)?.at ?? START_AT)] : records
}

/** A plugin that was told them, and is not shut down. */
export function played(events: readonly HostEvent[]): TestPlugin {
  const plugin = createTestPlugin({ host: 'pi', content_capture: 'full' })
  for (const { hook, payload, ...meta } of recordsOf(events)) plugin.on(hook, payload, meta)
  return plugin
}

const SHOWN = ['hermes.turn.final_status', 'hermes.tool.outcome', 'hermes.approval.choice']

export function treeOf(scene: Scene | readonly HostEvent[]): string {
  return played(scene instanceof Scene ? scene.events : scene).tree({ attributes: SHOWN })
}

type Deed = (scene: Scene, call: Call) => Scene

export const PI_DEEDS: Readonly<Record<string, Deed>> = {
  answer: scene => scene.answers(),
  tool: (scene, call) => scene.calls(call).tool(call),
  refused: (scene, call) => scene.calls(call).toolStarts(call).toolEnds(call, 'no', true),
  asked: (scene, call) =>
    scene.calls(call).toolStarts(call).says('ui_prompt_start', { kind: 'confirm' }).says('ui_prompt_end').toolRan(call),
  delegated: (scene, { id }) => scene.calls({ id, name: 'subagent' }).tool({ id, name: 'subagent' }),
  retry: scene => scene.fails().ends().runs(),
  compacted: scene =>
    scene
      .ends()
      .says('session_before_compact')
      .says('before_provider_headers', { headers: {} })
      .says('session_compact', { compactionEntry: { summary: 'short' } })
      .runs(),
}

/** Sessions in which everything ends as it should. */
export function piStory(session: string, deeds: readonly (readonly string[])[], at: number = START_AT): HostEvent[] {
  const scene = new Scene(session, { at }).starts()
  deeds.forEach((turn, number) => {
    scene.prompted(`prompt ${number}`)
    turn.forEach((deed, index) => {
      PI_DEEDS[deed]?.(scene, { id: `${session}_${number}_${index}`, name: 'bash' })
    })
    scene.answers().settles()
  })
  return scene.quits().events
}
