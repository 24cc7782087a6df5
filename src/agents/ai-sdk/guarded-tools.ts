import { setTimeout as sleep } from 'node:timers/promises'
import { elementsOf, idOf, isObject, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { type HookIds, type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../guards/index.ts'
import { isSameCall, namedArguments, settle, signalIn } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type RequestedCall, requestedCallOf } from './model-content.ts'
import { plainError } from './types.ts'

const REQUESTED_LIMIT = 1000
const MESSAGES_LIMIT = 100

type SdkToolCall = Omit<RequestedCall, 'id'> & { readonly id?: string | undefined }

interface CheckedCall {
  readonly outcome: Outcome<'beforeTool'>
  readonly input: unknown
}

export class GuardedCall {
  readonly hooks: HostHooks
  ids: HookIds = {}
  refusal: string | undefined
  /** Calls not yet checked. `experimental_refineToolInput` receives the input without the call's id. */
  #uncheckedCalls: RequestedCall[] = []
  /** Checked calls by their input, which is the object that runs, and by id: after an approval, the input returns as a copy. */
  readonly #checkedByInput = new WeakMap<object, CheckedCall>()
  readonly #checkedById = new LimitedMap<string, CheckedCall>(REQUESTED_LIMIT)

  constructor(hooks: HostHooks) {
    this.hooks = hooks
  }

  beginCall(started: unknown, includesSession: boolean): void {
    const turnId = idOf(peek(started, 'callId'))
    const session = includesSession ? idOf(peek(peek(started, 'runtimeContext'), 'sessionId')) : undefined
    this.ids = { sessionId: session ?? turnId, turnId }
    this.refusal = undefined
    this.#uncheckedCalls = []
    // Approved calls are checked again.
    const messages = elementsOf(peek(started, 'messages'), MESSAGES_LIMIT, 'last')
    const asking = messages.findLast(message => peek(message, 'role') === 'assistant')
    for (const part of elementsOf(peek(asking, 'content'), REQUESTED_LIMIT)) this.noteCall(part)
  }

  beginStep(stepNumber: number): void {
    const { turnId } = this.ids
    if (turnId !== undefined) this.ids = { ...this.ids, requestId: `${turnId}:${stepNumber + 1}` }
  }

  /** @param part of a message or an answer; only tool calls count */
  noteCall(part: unknown): void {
    const call = requestedCallOf(part)
    if (call === undefined) return
    this.#uncheckedCalls.push(call)
    if (this.#uncheckedCalls.length > REQUESTED_LIMIT) this.#uncheckedCalls.shift()
  }

  isChecked({ input }: SdkToolCall): boolean {
    return isObject(input) && this.#checkedByInput.has(input)
  }

  async checkToolCall({ name, input, id }: SdkToolCall, signal?: AbortSignal): Promise<CheckedCall> {
    const toolCallId = id ?? this.#claimCallId(name, input)
    const tool = toolCallOf({ name, arguments: namedArguments(input), id: toolCallId })
    const outcome = await this.hooks.run('beforeTool', this.idsOf(toolCallId), { tool }, signal)
    const isChanged = outcome.isRewritten && outcome.decision !== 'block'
    const judged = { outcome, input: isChanged ? inputOf(plainCopy(outcome.value), input) : input }
    if (isObject(judged.input)) this.#checkedByInput.set(judged.input, judged)
    if (toolCallId !== undefined) this.#checkedById.set(toolCallId, judged)
    return judged
  }

  idsOf(toolCallId: string | undefined): HookIds {
    return { ...this.ids, toolCallId }
  }

  findCheck({ input, id }: SdkToolCall): CheckedCall | undefined {
    const known = isObject(input) ? this.#checkedByInput.get(input) : undefined
    if (known !== undefined || id === undefined) return known
    const decided = this.#checkedById.get(id)
    if (decided === undefined || !isSameCall(namedArguments(decided.input), namedArguments(input))) return undefined
    if (isObject(input)) this.#checkedByInput.set(input, decided)
    return decided
  }

  /** Finds the call's id by its input, or by name alone: the tool's schema may have transformed the input. */
  #claimCallId(name: string, input: unknown): string | undefined {
    const named = this.#uncheckedCalls.filter(call => call.name === name)
    const call = named.find(each => isSameCall(namedArguments(each.input), namedArguments(input))) ?? named[0]
    if (call !== undefined) this.#uncheckedCalls = this.#uncheckedCalls.filter(each => each !== call)
    return call?.id
  }
}

function inputOf(args: ToolArguments, original: unknown): unknown {
  return namedArguments(original) === original ? args : args['input']
}

type HostTool = Readonly<Record<string, unknown>>
type Tools = Readonly<Record<string, HostTool>>
/** A function of the application. */
export type Callback = (this: unknown, ...args: unknown[]) => unknown

export interface CallToolOptions {
  readonly tools?: Tools | undefined
  readonly toolApproval?: unknown
  readonly experimental_refineToolInput?: Readonly<Record<string, Callback | undefined>> | undefined
}

type ApprovalQuestion = Partial<Record<'tools' | 'toolsContext' | 'runtimeContext' | 'messages', unknown>> & {
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown }
}

export function guardedTools(call: GuardedCall, options: CallToolOptions): CallToolOptions {
  const { tools } = options
  if (tools === undefined) return options
  const asksBefore = call.hooks.handles('beforeTool')
  const asksAfter = call.hooks.handles('afterTool')
  const own = Object.entries(tools).filter(([, tool]) => !isRunElsewhere(tool))
  const executed = own.map(([name, tool]) => [name, asksBefore || asksAfter ? withExecute(call, name, tool) : tool])
  const guarded = { ...options, tools: { ...tools, ...Object.fromEntries(executed) } }
  if (!asksBefore) return guarded
  const refine = own.map(([name]) => [name, refiner(call, name, options.experimental_refineToolInput?.[name])])
  return {
    ...guarded,
    experimental_refineToolInput: { ...options.experimental_refineToolInput, ...Object.fromEntries(refine) },
    toolApproval: (question: ApprovalQuestion) => approvalStatus(call, options.toolApproval, question),
  }
}

/** A tool's definition does not show who runs it: a shell that a provider defines runs in this process. */
function isRunElsewhere(tool: unknown): boolean {
  const isProviders = peek(tool, 'isProviderExecuted')
  if (typeof isProviders === 'boolean') return isProviders
  return String(peek(tool, 'type')).startsWith('provider') && typeof peek(tool, 'execute') !== 'function'
}

/** Everything later sees the refined input: the approval, the tool and the trace. */
function refiner(call: GuardedCall, name: string, theirs: Callback | undefined): Callback {
  return async given => {
    const input = theirs === undefined ? given : await theirs(given)
    return (await call.checkToolCall({ name, input })).input
  }
}

/** Our answer overrides the tool's own approval rules. Undefined leaves them in force. */
async function approvalStatus(call: GuardedCall, theirs: unknown, question: ApprovalQuestion): Promise<unknown> {
  const { toolName: name, toolCallId: id, input } = question.toolCall
  const isProviders = peek(question.toolCall, 'providerExecuted') === true
  const called = { name, id, input }
  const checked = isProviders ? undefined : (call.findCheck(called) ?? (await call.checkToolCall(called)))
  const outcome = checked?.outcome
  if (outcome?.decision === 'block') return { type: 'denied', reason: outcome.reason }
  const status = await statusWithoutHooks(theirs, question)
  if (outcome?.decision !== 'ask' || (peek(status, 'type') ?? status) === 'denied') return status
  return { type: 'user-approval', reason: outcome.reason }
}

async function statusWithoutHooks(theirs: unknown, question: ApprovalQuestion): Promise<unknown> {
  if (typeof theirs === 'function') return (theirs as Callback)(question)
  const { toolCall, tools, toolsContext, messages, runtimeContext } = question
  const { toolName, toolCallId, input } = toolCall
  const context = ownOf(toolsContext, toolName)
  const said = ownOf(theirs, toolName)
  if (typeof said === 'function')
    return (said as Callback)(input, { toolCallId, messages, toolContext: context, runtimeContext })
  if (said !== undefined && said !== null) return said
  const needed = peek(ownOf(tools, toolName), 'needsApproval')
  const isNeeded = typeof needed === 'function' ? await needed(input, { toolCallId, messages, context }) : needed
  return isNeeded ? 'user-approval' : undefined
}

/** The model chooses tool names: inherited properties must not match. */
function ownOf(holder: unknown, name: string): unknown {
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name) ? peek(holder, name) : undefined
}

function withExecute(call: GuardedCall, name: string, tool: HostTool): HostTool {
  const { execute } = tool
  if (typeof execute !== 'function') return tool
  const guarded: Callback = (input, options) => {
    const run = (sent: unknown): unknown => (execute as Callback).call(tool, sent, options)
    const called = { name, input, id: peek(options, 'toolCallId') as string | undefined }
    const toolRun = { call, called, signal: signalIn(options, 'abortSignal'), run: () => run(input) }
    const isJudged = !call.hooks.handles('beforeTool') || call.isChecked(called)
    if (!isJudged) return runUnchecked(toolRun, run)
    return call.hooks.handles('afterTool') ? checkResult(toolRun) : run(input)
  }
  return { ...tool, execute: guarded }
}

/** One run of a tool. `run` runs it with the input of `called`, again if a hook wants that. */
interface ToolRun {
  readonly call: GuardedCall
  readonly called: SdkToolCall
  readonly signal: AbortSignal | undefined
  readonly run: () => unknown
}

/** The tool was reached without a model's call, where the user cannot be asked. */
async function runUnchecked(toolRun: ToolRun, run: (input: unknown) => unknown): Promise<unknown> {
  const { call, called, signal } = toolRun
  const { outcome, input } = await call.checkToolCall(called, signal)
  if (outcome.decision === 'block') throw new Error(outcome.reason)
  if (outcome.decision === 'ask')
    throw new Error(`A person has to be asked first, which is not possible here: ${outcome.reason}`)
  return wholeResult(() => checkResult({ ...toolRun, called: { ...called, input }, run: () => run(input) }))
}

/** A tool may return a stream, whose last value is the result. */
function checkResult(toolRun: ToolRun): unknown {
  let result: unknown
  try {
    result = toolRun.run()
  } catch (error) {
    return runAfterTool(toolRun, Promise.reject(error))
  }
  return isIterable(result) ? checkStream(toolRun, result) : runAfterTool(toolRun, result)
}

async function* checkStream(toolRun: ToolRun, stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  let last: unknown
  let isFirst = true
  for await (const each of stream) {
    if (!isFirst) yield last
    isFirst = false
    last = each
  }
  yield await runAfterTool(toolRun, last)
}

async function runAfterTool({ call, called, signal, run }: ToolRun, first: unknown): Promise<unknown> {
  if (!call.hooks.handles('afterTool')) return first
  const { name, input, id } = called
  const tool = toolCallOf({ name, arguments: namedArguments(input), id })
  for (let attempt = 0, running = first; ; attempt++) {
    const { result, error, isError } = await settle(running)
    const event = { tool, result: isError ? plainError(error).message : result, isError, attempt }
    const outcome = await call.hooks.run('afterTool', call.idsOf(id), event, signal)
    if (outcome.decision === 'block') throw new Error(outcome.reason)
    if (outcome.decision !== 'retry') {
      if (outcome.isRewritten) return plainCopy(outcome.value)
      if (isError) throw error
      return result
    }
    await sleep(outcome.delayMillis ?? 0, undefined, { signal })
    running = wholeResult(run)
  }
}

async function wholeResult(run: () => unknown): Promise<unknown> {
  const result = await run()
  if (!isIterable(result)) return result
  let last: unknown
  for await (const each of result) last = each
  return last
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
