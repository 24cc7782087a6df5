/**
 * `hookspan/hooks/openai-agents`: guards in the OpenAI Agents SDK for JavaScript. Read from `@openai/agents` 0.20.0
 * (`agents-core`: run, agent, tool, guardrail, runner), which is not a dependency.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { elementsOf, idOf, ignoreErrors, isObject, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { toStandardError } from '../../guards/hook.ts'
import type { Capabilities, ControlHooks, HookIds, Outcome } from '../../guards/index.ts'
import { HostHooks, toolCallOf } from '../../guards/index.ts'
import { type AttachOptions, toolHookTrace } from '../attach.ts'
import { listOf, textFor } from '../base/guard-values.ts'
import { type AnswerFormat, type GuardedRequest, guardedAnswer, requestToSend } from '../base/guarded-answer.ts'
import { modelUsage } from '../base/usage.ts'
import { GuardedTools, withMethods } from './guarded-tools.ts'
import { currentRun, type Method } from './live-sdk.ts'
import { tokensOf } from './messages.ts'
import type { ConversationItem, SdkRequest } from './model-content.ts'
import { lastUserText, messagesOf, outputWith, textOfOutput, withFeedback, withTexts } from './model-content.ts'
import { type AgentToolCall, isShellElsewhere, itemWith, toolCallIn } from './tool-calls.ts'

export type { AttachOptions } from '../attach.ts'

const HOST = 'openai-agents'
const NAME = 'hookspan'

/** Decisions that the OpenAI Agents SDK accepts from hooks. */
export const ABLE: Capabilities = {
  beforeTurn: ['block'],
  afterTurn: ['block'],
  beforeModel: ['block', 'rewrite', 'inject'],
  afterModel: ['block', 'rewrite', 'retry'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['block', 'rewrite', 'retry'],
}

/** Guards for runners and agents. */
export interface OpenAiAgentsHooks {
  /**
   * Adds the hooks to all runs of a runner: its agents, and those that they hand over to. Returns the same runner. An
   * agent used as a tool runs by itself, and needs `guardAgent`.
   */
  guardRunner<Runner extends object>(runner: Runner): Runner
  /** Adds the hooks to the tools of an agent, and of those that it hands over to. Returns the same agent. */
  guardAgent<Agent extends object>(agent: Agent): Agent
}

type Plain = Record<string, unknown>

/**
 * Attaches hooks to the OpenAI Agents SDK.
 *
 * @example
 * const hooks = attachHooks(createHooks([noRm]))
 * const runner = hooks.guardRunner(new Runner())
 */
export function attachHooks(hooks: ControlHooks, options: AttachOptions = {}): OpenAiAgentsHooks {
  const guard = new Guard(
    new HostHooks({ ...options, host: HOST, hooks, capabilities: ABLE, plugin: () => toolHookTrace(HOST) }),
    options.report ?? toStandardError,
  )
  return {
    guardRunner: runner => {
      guard.guardRunner(runner as Plain)
      return runner
    },
    guardAgent: agent => {
      guard.guardAgent(agent)
      return agent
    },
  }
}

class Guard {
  readonly hooks: HostHooks
  readonly tools: GuardedTools
  readonly #done = new WeakSet<object>()
  readonly #starting = new WeakSet<object>()
  readonly #names = new Set<string>()
  readonly #turns = new AsyncLocalStorage<Map<string, HookIds>>()

  constructor(hooks: HostHooks, report: (line: string) => void) {
    this.hooks = hooks
    this.tools = new GuardedTools(hooks, line => void ignoreErrors(() => report(`hookspan: ${HOST}: ${line}`)))
  }

  /** Hooks skip an agent whose tools are not guarded: their outcome for a call could not be applied. */
  covers(agentName: string | undefined): boolean {
    this.#noteTurn()
    return agentName === undefined || this.#names.has(agentName)
  }

  guardRunner(runner: Plain): void {
    if (this.#isDone(runner)) return
    const config = runner['config'] as Plain
    const { model, modelProvider } = config
    if (isObject(modelProvider)) config['modelProvider'] = guardedProvider(this, modelProvider)
    if (isObject(model)) config['model'] = guardedModel(this, model)
    const run = runner['run'] as Method
    const guarded: Method = (agent, input, options) => {
      for (const each of [agent, peek(input, '_currentAgent')]) if (isObject(each)) this.guardAgent(each)
      if (isObject(agent)) this.#guardTurn(agent as Plain)
      return this.#runInScope(() => run.call(runner, agent, input, options))
    }
    Object.defineProperty(runner, 'run', { value: guarded, writable: true, configurable: true })
  }

  guardAgent(agent: object): void {
    if (this.#isDone(agent)) return
    const own = agent as Plain
    const name = textOf(own['name'])
    if (name !== undefined) this.#names.add(name)
    if (isObject(own['model'])) own['model'] = guardedModel(this, own['model'])
    // The tools of MCP servers are known only when the agent is about to run.
    const getAllTools = own['getAllTools'] as Method
    const guarded: Method = async (...args) => {
      const tools = await getAllTools.apply(agent, args)
      for (const tool of tools as readonly unknown[]) this.tools.guardTool(tool)
      return tools
    }
    Object.defineProperty(agent, 'getAllTools', { value: guarded, writable: true, configurable: true })
    if (this.hooks.handles('afterTurn'))
      addGuardrail(own, 'outputGuardrails', { name: NAME, execute: this.#checkAnswer })
    for (const handoff of elementsOf(own['handoffs'])) {
      const target = peek(handoff, 'agent') ?? handoff
      if (isObject(target)) this.guardAgent(target)
    }
  }

  /**
   * A turn begins with the agent that is run, not with one that it hands over to. The guardrail does not run in parallel: the
   * request would already be sent.
   */
  #guardTurn(agent: Plain): void {
    if (!this.hooks.handles('beforeTurn') || this.#starting.has(agent)) return
    this.#starting.add(agent)
    addGuardrail(agent, 'inputGuardrails', { name: NAME, runInParallel: false, execute: this.#checkPrompt })
  }

  readonly #checkPrompt = async (asked: unknown): Promise<object> => {
    const prompt = lastUserText(peek(asked, 'input'))
    return guardrailResult(await this.hooks.run('beforeTurn', this.#noteTurn(), { prompt }))
  }

  readonly #checkAnswer = async (asked: unknown): Promise<object> => {
    const answer = textFor(peek(asked, 'agentOutput'))
    return guardrailResult(await this.hooks.run('afterTurn', this.#noteTurn(), { answer, attempt: 0 }))
  }

  #noteTurn(): HookIds {
    const { ids } = currentRun()
    this.#turns.getStore()?.set(idOf(ids.turnId) ?? '', ids)
    return ids
  }

  #runInScope(run: () => unknown): unknown {
    const turns = new Map<string, HookIds>()
    const running = this.#turns.run(turns, run)
    const ended = (): void => {
      for (const ids of turns.values()) this.hooks.endTurn(ids)
    }
    if (!(running instanceof Promise)) return running
    running.then(result => {
      const completed = peek(result, 'completed')
      if (completed instanceof Promise) completed.then(ended, ended)
      else ended()
    }, ended)
    return running
  }

  #isDone(object: object): boolean {
    if (this.#done.has(object)) return true
    this.#done.add(object)
    return false
  }
}

/** Converts to the result of an SDK guardrail; the reason is in the error that ends the run. */
function guardrailResult({ decision, by, reason }: Outcome<'beforeTurn'> | Outcome<'afterTurn'>): object {
  const isBlocked = decision === 'block'
  return { tripwireTriggered: isBlocked, outputInfo: isBlocked ? { hook: by, reason } : {} }
}

function addGuardrail(holder: Plain, key: string, guardrail: object): void {
  holder[key] = [...listOf(holder[key]), guardrail]
}

type Response = { readonly output: readonly ConversationItem[] }

/** `response_done` contains the whole answer. */
type StreamEvent = Readonly<Record<string, unknown>>

interface HostModel {
  getResponse(request: SdkRequest): Promise<Response>
  getStreamedResponse(request: SdkRequest): AsyncIterable<StreamEvent>
}

function guardedModel(guard: Guard, model: object): object {
  const own = model as HostModel
  return withMethods(model, {
    getResponse: (request: SdkRequest) => requestAnswer(guard, request, sent => own.getResponse(sent)),
    getStreamedResponse: (request: SdkRequest) => streamEvents(guard, own, request),
  })
}

function guardedProvider(guard: Guard, provider: object): object {
  const made = new WeakMap<object, object>()
  const getModel = async (name: unknown): Promise<object> => {
    const model = await (provider as { getModel(name: unknown): Promise<object> | object }).getModel(name)
    const known = made.get(model) ?? guardedModel(guard, model)
    made.set(model, known)
    return known
  }
  return withMethods(provider, { getModel })
}

async function requestAnswer(guard: Guard, request: SdkRequest, send: HostModel['getResponse']): Promise<Response> {
  if (!guard.covers(currentRun().agentName)) return send(request)
  const response = await guardedAnswer(guardedRequest(guard, request), formatFor(request), request, send)
  return withCheckedCalls(guard, request, response)
}

function guardedRequest({ hooks }: Guard, request: SdkRequest): GuardedRequest {
  const model = textOf(peek(request, 'model'))
  // The end of a turn is checked by a guardrail.
  return { hooks, ids: currentRun().ids, model, signal: request.signal, checksTurn: false }
}

function formatFor(request: SdkRequest): AnswerFormat<SdkRequest, Response> {
  return {
    messagesOf,
    withMessages: withTexts,
    withFeedback,
    errorOf,
    contentOf: response => {
      const output = listOf<ConversationItem>(response.output)
      const calls = output.flatMap(item => callIn(item, request) ?? [])
      const toolCalls = calls.map(({ id, name, args }) => toolCallOf({ id, name, arguments: args }))
      return { text: textOfOutput(output), toolCalls, usage: modelUsage(tokensOf(peek(response, 'usage'))) }
    },
    withText: (response, text, alone) => ({ ...response, output: outputWith(listOf(response.output), text, alone) }),
    fromText: answerFromText,
  }
}

/** Checks and rewrites the calls of an answer, before the approval and the tool see them. */
async function withCheckedCalls({ hooks, tools }: Guard, request: SdkRequest, response: Response): Promise<Response> {
  if (!hooks.handles('beforeTool')) return response
  const handoffs = new Set(listOf(request.handoffs).map(each => peek(each, 'toolName')))
  const output: ConversationItem[] = []
  for (const item of listOf<ConversationItem>(response.output)) {
    const called = callIn(item, request)
    if (called === undefined || (called.format === undefined && handoffs.has(called.name))) {
      output.push(item)
      continue
    }
    const outcome = await tools.checkCall(called, request.signal)
    const isChanged = outcome.isRewritten && outcome.decision !== 'block'
    output.push(isChanged ? itemWith(item, called, outcome.value) : item)
  }
  return { ...response, output }
}

/** Forwards events immediately, except the last one, which counts. Buffers all if hooks check the answer. */
async function* streamEvents(guard: Guard, model: HostModel, request: SdkRequest): AsyncGenerator<StreamEvent> {
  const isCovered = guard.covers(currentRun().agentName)
  if (isCovered && guard.hooks.handles('afterModel')) return yield* bufferEvents(guard, model, request)
  const guarded = guardedRequest(guard, request)
  const sent = isCovered ? await requestToSend(guarded, formatFor(request), request) : request
  if (typeof sent === 'string') return yield* eventsOf(doneEvent(answerFromText(sent)), sent)
  for await (const event of model.getStreamedResponse(sent)) {
    const isDone = isCovered && event['type'] === 'response_done'
    const checked = isDone ? await withCheckedCalls(guard, request, event['response'] as Response) : undefined
    yield checked === undefined ? event : { ...event, response: checked }
  }
}

async function* bufferEvents(guard: Guard, model: HostModel, request: SdkRequest): AsyncGenerator<StreamEvent> {
  let events: StreamEvent[] = []
  let last: Response | undefined
  const response = await requestAnswer(guard, request, async sent => {
    events = []
    last = undefined
    for await (const event of model.getStreamedResponse(sent)) {
      events.push(event)
      if (event['type'] === 'response_done') last = event['response'] as Response
    }
    if (last === undefined) throw new Error('the stream of the model ended before its answer did')
    return last
  })
  const done = events.find(({ type }) => type === 'response_done')
  const text = textOfOutput(response.output)
  const isSame = last !== undefined && text === textOfOutput(last.output)
  if (done === undefined) yield* eventsOf(doneEvent(response), text)
  else if (isSame) for (const event of events) yield event === done ? { ...done, response } : event
  else {
    yield* events.filter(({ type }) => type === 'response_started')
    yield* eventsOf({ ...done, response }, text)
  }
}

function eventsOf(done: StreamEvent, text: string): StreamEvent[] {
  return text === '' ? [done] : [{ type: 'output_text_delta', delta: text }, done]
}

function doneEvent(response: Response): StreamEvent {
  return { type: 'response_done', response: { id: NAME, ...response } }
}

function answerFromText(text: string): Response {
  const usage = { requests: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const details = { inputTokensDetails: [], outputTokensDetails: [] }
  return { usage: { ...usage, ...details }, output: outputWith([], text, true) } as Response
}

function callIn(item: ConversationItem, { tools }: SdkRequest): AgentToolCall | undefined {
  const called = toolCallIn(item)
  return called?.format?.name === 'shell' && isShellElsewhere(listOf(tools)) ? undefined : called
}

function errorOf(error: unknown) {
  return {
    type: textOf(peek(error, 'name')),
    status: numberOf(peek(error, 'status')),
    message: textOf(peek(error, 'message')),
  }
}
