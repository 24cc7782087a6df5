import { elementsOf, idOf, peek } from '../../contract/foreign.ts'
import { changedFields } from '../../guards/answers.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { type HookIds, type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../guards/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type RequestedCall, requestedCallOf } from './answers.ts'

const REQUESTED_LIMIT = 1000
const MESSAGES_LIMIT = 100

export interface SdkToolCall {
  readonly name: string
  readonly input: unknown
  readonly id?: string | undefined
}

export interface CheckedCall {
  readonly outcome: Outcome<'beforeTool'>
  /** The input that runs, or would have run if allowed. */
  readonly input: unknown
}

/** One call of the SDK, with the hooks' outcomes for its tools. */
export class GuardedCall {
  readonly hooks: HostHooks
  ids: HookIds = {}
  /** The answer to give if the turn was blocked. */
  refusal: string | undefined
  /** Calls not yet checked. `experimental_refineToolInput` receives the input without the call's id. */
  #uncheckedCalls: RequestedCall[] = []
  /** By the checked input, which is the object that runs. */
  readonly #checkedByInput = new WeakMap<object, CheckedCall>()
  /** By call id: after an approval, the input returns as a copy. */
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
    for (const call of callsIn(peek(started, 'messages'))) this.addRequestedCall(call)
  }

  beginStep(stepNumber: number): void {
    const { turnId } = this.ids
    if (turnId !== undefined) this.ids = { ...this.ids, requestId: `${turnId}:${stepNumber + 1}` }
  }

  addRequestedCall(call: RequestedCall): void {
    this.#uncheckedCalls.push(call)
    if (this.#uncheckedCalls.length > REQUESTED_LIMIT) this.#uncheckedCalls.shift()
  }

  async knownOrChecked(called: SdkToolCall): Promise<CheckedCall> {
    return this.#knownCheck(called) ?? (await this.checkToolCall(called))
  }

  isChecked({ input }: SdkToolCall): boolean {
    return isObject(input) && this.#checkedByInput.has(input)
  }

  async checkToolCall({ name, input, id }: SdkToolCall, signal?: AbortSignal): Promise<CheckedCall> {
    const toolCallId = id ?? this.#claimCallId(name, input)
    const tool = toolCallOf({ name, arguments: argumentsOf(input), id: toolCallId })
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

  #knownCheck({ input, id }: SdkToolCall): CheckedCall | undefined {
    const known = isObject(input) ? this.#checkedByInput.get(input) : undefined
    if (known !== undefined || id === undefined) return known
    const decided = this.#checkedById.get(id)
    if (decided === undefined || !isSame(decided.input, input)) return undefined
    if (isObject(input)) this.#checkedByInput.set(input, decided)
    return decided
  }

  /** Finds the call's id by its input, or by name alone: the tool's schema may have transformed the input. */
  #claimCallId(name: string, input: unknown): string | undefined {
    const named = this.#uncheckedCalls.filter(call => call.name === name)
    const call = named.find(each => isSame(each.input, input)) ?? named[0]
    if (call !== undefined) this.#uncheckedCalls = this.#uncheckedCalls.filter(each => each !== call)
    return call?.id
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Guards read fields, so other input becomes one: `5` -> `{ input: 5 }`. */
export function argumentsOf(input: unknown): ToolArguments {
  return isObject(input) && !Array.isArray(input) ? (input as ToolArguments) : { input }
}

function isSame(one: unknown, other: unknown): boolean {
  return changedFields('beforeTool', argumentsOf(one), argumentsOf(other)).length === 0
}

function inputOf(args: ToolArguments, original: unknown): unknown {
  return argumentsOf(original) === original ? args : args['input']
}

function callsIn(messages: unknown): readonly RequestedCall[] {
  const asking = elementsOf(messages, MESSAGES_LIMIT, 'last').findLast(message => peek(message, 'role') === 'assistant')
  return elementsOf(peek(asking, 'content'), REQUESTED_LIMIT).flatMap(part => requestedCallOf(part) ?? [])
}
