/** As much of `@openai/agents` 0.20.0 as hooks are in: guardrails, models, approvals, tools, in the order of the real one. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach } from 'vitest'

type Plain = Record<string, unknown>
type Call = (...args: unknown[]) => unknown

/** Where the real one keeps the trace and the span that code runs in. */
const CONTEXT = Symbol.for('openai.agents.core.asyncLocalStorage')
const storage = new AsyncLocalStorage<Plain>()
const shared = globalThis as Record<symbol, unknown>

/** As if the real one was loaded. */
export function fakeContextEachTest(): void {
  beforeEach(() => {
    shared[CONTEXT] = storage
  })
  afterEach(() => {
    delete shared[CONTEXT]
  })
}

export interface FakeReply {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly args: Plain | string }[]
  /** Calls of tools that are no functions: `shell_call` and the like. */
  readonly items?: readonly Plain[]
}

export interface Sent extends Plain {
  readonly systemInstructions?: string
  readonly input: readonly Plain[]
}

export interface FakeProvider {
  readonly provider: object
  readonly sent: readonly Sent[]
}

/** A provider whose model answers so; a reply that is an error is thrown. */
export function fakeProvider(answer: (sent: Sent, ordinal: number) => FakeReply | Error): FakeProvider {
  const sent: Sent[] = []
  const output = (request: Sent): Plain[] => {
    const reply = answer(request, sent.push(request))
    if (reply instanceof Error) throw reply
    const text = reply.text === undefined ? [] : [{ type: 'output_text', text: reply.text }]
    const message = text.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: text }]
    const calls = (reply.calls ?? []).map(({ name, args }, at) => ({
      type: 'function_call',
      callId: `c${sent.length}.${at}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    }))
    const items = (reply.items ?? []).map((item, at) => ({ callId: `i${sent.length}.${at}`, ...item }))
    return [...message, ...calls, ...structuredClone(items)]
  }
  class Model {
    readonly #name = 'fake-1'
    async getResponse(request: Sent): Promise<Plain> {
      return { usage: { inputTokens: 100, outputTokens: 10 }, output: output(request), responseId: this.#name }
    }
    async *getStreamedResponse(request: Sent): AsyncGenerator<Plain> {
      const items = output(request)
      yield { type: 'response_started' }
      for (const { content } of items)
        for (const { text } of (content ?? []) as { text: string }[])
          for (const delta of text.split(/(?<= )/)) yield { type: 'output_text_delta', delta }
      yield {
        type: 'response_done',
        response: { id: this.#name, usage: { inputTokens: 100, outputTokens: 10 }, output: items },
      }
    }
  }
  const model = new Model()
  return { provider: { getModel: () => model }, sent }
}

export interface FakeState {
  readonly interruptions: readonly Plain[]
  readonly history: Plain[]
  readonly approved: Set<unknown>
  readonly _currentAgent: FakeAgent
  readonly getInterruptions: () => readonly Plain[]
}

export interface FakeResult {
  readonly finalOutput: string | undefined
  readonly state: FakeState
  readonly deltas: readonly unknown[]
}

export class FakeAgent {
  readonly name: string
  tools: Plain[]
  handoffs: FakeAgent[]
  model: unknown = ''
  inputGuardrails: Plain[] = []
  outputGuardrails: Plain[] = []

  constructor(name: string, tools: Plain[] = [], handoffs: FakeAgent[] = []) {
    this.name = name
    this.tools = tools
    this.handoffs = handoffs
  }

  async getAllTools(): Promise<Plain[]> {
    return [...this.tools]
  }
}

/** A tool of the SDK that is no function, as its factories make them. */
export function fakeItemTool(type: string, holder: Plain, needsApproval = false): Plain {
  const tool = { type, name: type, needsApproval: async () => needsApproval, onApproval: undefined }
  return type === 'shell' ? { ...tool, environment: { type: 'local' }, ...holder } : { ...tool, ...holder }
}

export function fakeTool(name: string, execute: (args: unknown) => unknown, needsApproval = false): Plain {
  return {
    type: 'function',
    name,
    invoke: async (_: unknown, input: string) => execute(JSON.parse(input)),
    needsApproval: async () => needsApproval,
  }
}

/** As the SDK does with a tool that throws: the span gets the error, and the model a text. */
export function caught(message: string): string {
  const { span } = storage.getStore() as { readonly span: { setError(error: object): void } }
  span.setError({ message: 'Error running tool (non-fatal)' })
  return `An error occurred while running the tool. Please try again. Error: ${message}`
}

let runs = 0

export class FakeRunner {
  readonly config: Plain
  /** What was said to have gone wrong, in the SDK's own spans. */
  readonly errors: unknown[] = []

  constructor(provider: object) {
    this.config = { modelProvider: provider }
  }

  run(agent: FakeAgent, input: string | FakeState, options: Plain = {}): Promise<FakeResult> {
    const task = { spanId: `task-${++runs}`, spanData: { type: 'task' } }
    const setError = (error: unknown): void => {
      this.errors.push(error)
      span['error'] = error
    }
    const spanData = { type: 'agent', name: agent.name }
    const span: Plain = { spanId: `agent-${runs}`, spanData, previousSpan: task, setError, error: null }
    const trace = { traceId: 'trace-1', groupId: 'group-1' }
    return storage.run({ trace, span }, () => this.#run(agent, input, options))
  }

  async #run(first: FakeAgent, input: string | FakeState, options: Plain): Promise<FakeResult> {
    let agent = first
    const isNew = typeof input === 'string'
    const history = isNew ? [{ role: 'user', content: input }] : input.history
    const approved = isNew ? new Set() : input.approved
    const deltas: unknown[] = []
    if (isNew) await guard(agent.inputGuardrails, { agent, input }, 'InputGuardrailTripwireTriggered')
    let waiting: readonly Plain[] = isNew ? [] : input.interruptions
    for (let turn = 0; turn < 5; turn++) {
      const tools = await agent.getAllTools()
      let items = waiting
      if (items.length === 0) {
        const model = (agent.model ||
          (await (this.config['modelProvider'] as { getModel: Call }).getModel(''))) as Plain
        const request = {
          systemInstructions: `Be ${agent.name}.`,
          input: structuredClone(history),
          tools: tools.map(({ type, name, environment }) => ({ type, name, environment })),
          handoffs: agent.handoffs.map(({ name }) => ({ toolName: `transfer_to_${name}` })),
        }
        items = options['stream'] === true ? await streamed(model, request, deltas) : await whole(model, request)
        history.push(...items)
      }
      waiting = []
      const calls = items.filter(({ type }) => String(type).endsWith('_call'))
      if (calls.length === 0) {
        const text = textOf(items)
        await guard(agent.outputGuardrails, { agent, agentOutput: text }, 'OutputGuardrailTripwireTriggered')
        return { finalOutput: text, state: stateOf([], history, approved, agent), deltas }
      }
      const asked: Plain[] = []
      for (const call of calls) {
        const target = agent.handoffs.find(({ name }) => call['name'] === `transfer_to_${name}`)
        const isFunction = call['type'] === 'function_call'
        const make = (): Promise<unknown> =>
          isFunction ? this.#call(tools, call, approved) : this.#callItem(tools, call, approved)
        const output = target === undefined ? await make() : 'handed over'
        if (output === WAITS) asked.push(call)
        else if (!isFunction)
          history.push({ type: `${call['type']}_output`, callId: call['callId'], ...fieldsOf(output) })
        else history.push({ type: 'function_call_result', callId: call['callId'], output })
        if (target !== undefined) agent = target
      }
      if (asked.length > 0) return { finalOutput: undefined, state: stateOf(asked, history, approved, agent), deltas }
    }
    throw new Error('too many turns')
  }

  async #call(tools: readonly Plain[], call: Plain, approved: Set<unknown>): Promise<unknown> {
    const tool = tools.find(({ name }) => name === call['name']) as { invoke: Call; needsApproval: Call }
    const context = { isToolApproved: ({ callId }: Plain) => approved.has(callId) || undefined }
    const args = JSON.parse(String(call['arguments']))
    if (!approved.has(call['callId']) && (await tool.needsApproval(context, args, call['callId'])) === true)
      return WAITS
    return tool.invoke(context, call['arguments'], { toolCall: call })
  }

  /** Who has been granted a call is not asked of the tool again, and what a tool throws is its result. */
  async #callItem(tools: readonly Plain[], call: Plain, approved: Set<unknown>): Promise<unknown> {
    const type = String(call['type']).replace(/_call$/, '')
    const tool = tools.find(each => each['type'] === type) as Plain & { needsApproval: Call }
    if (type === 'shell' && tool['shell'] === undefined) return 'run elsewhere'
    const asked = (call['action'] ?? call['operation']) as Plain
    if (!approved.has(call['callId']) && (await tool.needsApproval({}, asked, call['callId'])) === true) return WAITS
    const holder = (tool['shell'] ?? tool['editor'] ?? tool['computer']) as Record<string, Call>
    const method = EDITS[String(asked['type'])] ?? 'run'
    try {
      return await holder[method]?.(asked, { runContext: {} })
    } catch (error) {
      return `error: ${(error as Error).message}`
    }
  }
}

/** Of a shell its outputs, of a patch its status and output. */
function fieldsOf(output: unknown): object {
  return typeof output === 'object' && output !== null ? output : { output }
}

const WAITS = Symbol('waits')
const EDITS: Readonly<Record<string, string>> = {
  create_file: 'createFile',
  update_file: 'updateFile',
  delete_file: 'deleteFile',
}

function stateOf(asked: readonly Plain[], history: Plain[], approved: Set<unknown>, agent: FakeAgent): FakeState {
  return { interruptions: asked, history, approved, _currentAgent: agent, getInterruptions: () => asked }
}

async function guard(guardrails: readonly Plain[], args: Plain, name: string): Promise<void> {
  for (const { execute } of guardrails) {
    const said = (await (execute as Call)(args)) as Plain
    if (said['tripwireTriggered'] === true) throw Object.assign(new Error(JSON.stringify(said['outputInfo'])), { name })
  }
}

async function whole(model: Plain, request: Sent): Promise<readonly Plain[]> {
  return ((await (model as { getResponse: Call }).getResponse(request)) as { output: Plain[] }).output
}

async function streamed(model: Plain, request: Sent, deltas: unknown[]): Promise<readonly Plain[]> {
  let output: readonly Plain[] = []
  const events = (model as { getStreamedResponse: Call }).getStreamedResponse(request) as AsyncIterable<Plain>
  for await (const event of events) {
    if (event['type'] === 'output_text_delta') deltas.push(event['delta'])
    if (event['type'] === 'response_done') output = (event['response'] as { output: Plain[] }).output
  }
  return output
}

function textOf(items: readonly Plain[]): string {
  return items.flatMap(({ content }) => ((content ?? []) as { text: string }[]).map(({ text }) => text)).join('')
}
