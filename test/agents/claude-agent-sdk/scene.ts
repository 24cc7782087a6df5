import type { HostEvent } from '../../../src/agents/host-event.ts'

const START = 1_795_292_811_000

interface Ids {
  readonly session?: string
  readonly prompt?: string
  readonly query?: string
}

interface Said {
  /** `parent_tool_use_id` and `agent_id` of a child's message. */
  readonly child?: { readonly call?: string; readonly agent?: string }
  readonly text?: string
  /** Tools that it calls: their ids, and what is called. */
  readonly calls?: Readonly<Record<string, string>>
  readonly usage?: object
  readonly model?: string
}

/** Writes down what the SDK tells of a run, ten milliseconds apart, in the shape of the captures. */
export class Scene {
  readonly events: HostEvent[] = []
  readonly #session: string
  readonly #context: { readonly query: string } | undefined
  #prompt: string
  #at = START

  constructor({ session = 's1', prompt = 'p1', query }: Ids = {}) {
    this.#session = session
    this.#prompt = prompt
    this.#context = query === undefined ? undefined : { query }
  }

  event(event: string, data: object = {}, toolUseId?: string): this {
    this.#at += 10
    const context = this.#context === undefined ? {} : { context: this.#context }
    this.events.push({ event, at: this.#at, data, ...context, ...(toolUseId ? { tool_use_id: toolUseId } : {}) })
    return this
  }

  after(millis: number): this {
    this.#at += millis
    return this
  }

  hook(name: string, data: object = {}, toolUseId?: string): this {
    const base = { session_id: this.#session, prompt_id: this.#prompt, hook_event_name: name }
    return this.event(`hook.${name}`, { ...base, ...data }, toolUseId)
  }

  message(kind: string, data: object = {}): this {
    const [type, subtype] = kind.split('.')
    return this.event(`msg.${kind}`, { type, subtype, session_id: this.#session, ...data })
  }

  /** A prompt, and what the SDK says at the beginning of its turn. */
  prompted(text: string, prompt: string = this.#prompt): this {
    this.#prompt = prompt
    return this.hook('UserPromptSubmit', { prompt: text }).message('system.init', { model: 'claude' })
  }

  /** An answer of the model, in one message. */
  answer(id: string, { child, text, calls = {}, usage, model = 'claude' }: Said = {}): this {
    const texts = text === undefined ? [] : [{ type: 'text', text }]
    const tools = Object.entries(calls).map(([call, name]) => ({
      type: 'tool_use',
      id: call,
      name,
      input: { on: call },
    }))
    return this.message('assistant', {
      message: { id, model, content: [...texts, ...tools], usage: usage ?? { input_tokens: 10, output_tokens: 1 } },
      parent_tool_use_id: child?.call ?? null,
      ...(child?.agent === undefined ? {} : { agent_id: child.agent }),
    })
  }

  toolStarts(id: string, name = 'Bash', more: object = {}): this {
    return this.hook('PreToolUse', { tool_name: name, tool_input: { on: id }, tool_use_id: id, ...more }, id)
  }

  toolEnds(id: string, name = 'Bash', more: object = {}): this {
    return this.hook('PostToolUse', { tool_name: name, tool_use_id: id, tool_response: 'fine', ...more }, id)
  }

  /** A tool that runs and works. */
  tool(id: string, name = 'Bash'): this {
    return this.toolStarts(id, name).toolEnds(id, name)
  }

  batch(...ids: readonly string[]): this {
    return this.hook('PostToolBatch', { tool_calls: ids.map(id => ({ tool_use_id: id, tool_response: 'text' })) })
  }

  stop(text = 'done'): this {
    return this.hook('Stop', { last_assistant_message: text })
  }

  /** All tokens of the turn, and of all models since the last result. */
  result(usage: object = {}, more: object = {}): this {
    const said = { is_error: false, terminal_reason: 'completed', stop_reason: 'end_turn', usage }
    return this.message('result.success', { ...said, ...more })
  }
}

/** A session with a child agent and an approval. */
export function twinSession(name: string): readonly HostEvent[] {
  const scene = new Scene({ session: name, prompt: `${name}-p`, query: name }).prompted(name)
  scene
    .answer('m1', { calls: { t1: 'Bash', t2: 'Agent' } })
    .toolStarts('t1')
    .event('canUseTool', { toolUseID: 't1' })
  scene
    .event('canUseTool.end', { toolUseID: 't1', r: { behavior: 'allow' } })
    .toolEnds('t1')
    .toolStarts('t2', 'Agent')
  const agent = `${name}-child`
  scene.message('system.task_started', { task_id: agent, tool_use_id: 't2', subagent_type: 'scout', prompt: 'look' })
  scene.toolEnds('t2', 'Agent', { tool_response: { status: 'async_launched' } }).batch('t1', 't2')
  scene
    .answer('m3', { child: { call: 't2', agent }, text: 'seen' })
    .answer('m2', { text: 'done' })
    .stop()
    .result()
  scene.message('system.task_notification', { task_id: agent, status: 'completed' }).event('iterator.end')
  return scene.events
}
