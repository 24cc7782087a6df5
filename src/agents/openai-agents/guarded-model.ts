import { setTimeout as sleep } from 'node:timers/promises'
import { numberOf, peek, textOf } from '../../contract/foreign.ts'
import { type HostHooks, toolCallOf } from '../../guards/index.ts'
import { listOf, settle } from '../base/guard-values.ts'
import { modelUsage } from '../base/usage.ts'
import { type GuardedTools, withMethods } from './guarded-tools.ts'
import { currentRun } from './live-sdk.ts'
import { tokensOf } from './messages.ts'
import {
  assistantItem,
  type ConversationItem,
  messagesOf,
  outputWith,
  type RequestContent,
  textOfOutput,
  withFeedback,
  withTexts,
} from './model-content.ts'
import { type AgentToolCall, isShellElsewhere, itemWith, toolCallIn } from './tool-calls.ts'

interface Request extends RequestContent {
  readonly tools?: unknown
  readonly handoffs?: unknown
  readonly signal?: AbortSignal | undefined
}

interface Response {
  readonly output: readonly ConversationItem[]
}

/** `response_done` contains the whole answer. */
type StreamEvent = Readonly<Record<string, unknown>>

interface HostModel {
  getResponse(request: Request): Promise<Response>
  getStreamedResponse(request: Request): AsyncIterable<StreamEvent>
}

interface ModelGuard {
  readonly hooks: HostHooks
  readonly tools: GuardedTools
  covers(agentName: string | undefined): boolean
}

const NO_USAGE = Object.freeze({ requests: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0 })
const MADE_ID = 'hookspan'

export function guardedModel(guard: ModelGuard, model: object): object {
  const own = model as HostModel
  return withMethods(model, {
    getResponse: (request: Request) => requestAnswer(guard, request, sent => own.getResponse(sent)),
    getStreamedResponse: (request: Request) => streamEvents(guard, own, request),
  })
}

export function guardedProvider(guard: ModelGuard, provider: object): object {
  const made = new WeakMap<object, object>()
  const getModel = async (name: unknown): Promise<object> => {
    const model = await (provider as { getModel(name: unknown): Promise<object> | object }).getModel(name)
    const known = made.get(model) ?? guardedModel(guard, model)
    made.set(model, known)
    return known
  }
  return withMethods(provider, { getModel })
}

async function requestAnswer(
  guard: ModelGuard,
  request: Request,
  ask: (request: Request) => Promise<Response>,
): Promise<Response> {
  const { hooks } = guard
  const { ids, agentName } = currentRun()
  if (!guard.covers(agentName)) return ask(request)
  const signal = request.signal
  const model = textOf(peek(request, 'model'))
  for (let attempt = 0, asked = request; ; attempt++) {
    const sent = await requestToSend(guard, asked)
    if (typeof sent === 'string') return answerFromText(sent)
    const { result: response, error } = await settle(ask(sent))
    const output = response?.output ?? []
    if (!hooks.handles('afterModel') || signal?.aborted) {
      if (response === undefined) throw error
      return { ...response, output: await checkCalls(guard, request, output) }
    }
    const calls = output.flatMap(item => {
      const called = callIn(item, request)
      return called === undefined ? [] : [toolCallOf({ ...called, arguments: called.args })]
    })
    const text = textOfOutput(output)
    const usage = modelUsage(tokensOf(peek(response, 'usage')))
    const failure = response === undefined ? errorOf(error) : undefined
    const event = { model, text, toolCalls: calls, attempt, usage, error: failure }
    const outcome = await hooks.run('afterModel', ids, event, signal)
    if (outcome.decision === 'retry') {
      asked = withFeedback(asked, text, outcome.reason)
      if (outcome.delayMillis) await sleep(outcome.delayMillis, undefined, { signal })
      continue
    }
    if (response === undefined) throw error
    if (outcome.decision === 'block') return { ...response, output: outputWith(output, outcome.reason ?? '', true) }
    const said = outcome.isRewritten ? outputWith(output, outcome.value, false) : output
    return { ...response, output: await checkCalls(guard, request, said) }
  }
}

async function requestToSend({ hooks }: ModelGuard, request: Request): Promise<Request | string> {
  if (!hooks.handles('beforeModel')) return request
  const messages = messagesOf(request)
  const { ids } = currentRun()
  const event = { model: textOf(peek(request, 'model')), messages }
  const outcome = await hooks.run('beforeModel', ids, event, request.signal)
  if (outcome.decision === 'block') return outcome.reason ?? ''
  const isChanged = outcome.isRewritten || outcome.injected.length > 0
  return isChanged ? withTexts(request, outcome.value, outcome.injected) : request
}

/** Checks and rewrites the calls of an answer, before the approval and the tool see them. */
async function checkCalls(
  { hooks, tools }: ModelGuard,
  request: Request,
  output: readonly ConversationItem[],
): Promise<readonly ConversationItem[]> {
  if (!hooks.handles('beforeTool')) return output
  const handoffs = new Set(listOf(request.handoffs).map(each => peek(each, 'toolName')))
  const made: ConversationItem[] = []
  for (const item of output) {
    const called = callIn(item, request)
    if (called === undefined || (called.format === undefined && handoffs.has(called.name))) {
      made.push(item)
      continue
    }
    const outcome = await tools.checkCall(called, request.signal)
    const isChanged = outcome.isRewritten && outcome.decision !== 'block'
    made.push(isChanged ? itemWith(item, called.format, outcome.value) : item)
  }
  return made
}

/** Forwards events immediately, except the last one, which counts. Buffers all if hooks check the answer. */
async function* streamEvents(guard: ModelGuard, model: HostModel, request: Request): AsyncGenerator<StreamEvent> {
  const judges = guard.hooks.handles('afterModel') && guard.covers(currentRun().agentName)
  if (judges) {
    yield* bufferEvents(guard, model, request)
    return
  }
  const isCovered = guard.covers(currentRun().agentName)
  const sent = isCovered ? await requestToSend(guard, request) : request
  if (typeof sent === 'string') {
    yield* eventsOf(doneEvent(answerFromText(sent)), sent)
    return
  }
  for await (const event of model.getStreamedResponse(sent))
    yield isCovered && event['type'] === 'response_done' ? await doneWithCalls(guard, request, event) : event
}

async function doneWithCalls(guard: ModelGuard, request: Request, event: StreamEvent): Promise<StreamEvent> {
  const response = event['response'] as Response
  return { ...event, response: { ...response, output: await checkCalls(guard, request, listOf(response.output)) } }
}

async function* bufferEvents(guard: ModelGuard, model: HostModel, request: Request): AsyncGenerator<StreamEvent> {
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
  const isSame = last !== undefined && textOfOutput(response.output) === textOfOutput(last.output)
  if (done === undefined) yield* eventsOf(doneEvent(response), textOfOutput(response.output))
  else if (isSame) for (const event of events) yield event === done ? { ...done, response } : event
  else {
    for (const event of events) if (event['type'] === 'response_started') yield event
    yield* eventsOf({ ...done, response }, textOfOutput(response.output))
  }
}

function* eventsOf(done: StreamEvent, text: string): Generator<StreamEvent> {
  if (text !== '') yield { type: 'output_text_delta', delta: text }
  yield done
}

function doneEvent(response: Response): StreamEvent {
  return { type: 'response_done', response: { id: MADE_ID, ...response } }
}

function answerFromText(text: string): Response {
  const made = {
    usage: { ...NO_USAGE, inputTokensDetails: [], outputTokensDetails: [] },
    output: [assistantItem(text)],
  }
  return made
}

function callIn(item: ConversationItem, { tools }: Request): AgentToolCall | undefined {
  const called = toolCallIn(item)
  return called?.format?.tool === 'shell' && isShellElsewhere(listOf(tools)) ? undefined : called
}

function errorOf(error: unknown) {
  return {
    type: textOf(peek(error, 'name')),
    status: numberOf(peek(error, 'status')),
    message: textOf(peek(error, 'message')),
  }
}
