import { elementsOf, idOf, peek } from '../../contract/foreign.ts'
import { changedFields } from '../../guards/answers.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { type HookIds, type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../guards/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { callOf, type WantedCall } from './answers.ts'

const WANTED_LIMIT = 1000
const MESSAGES_LIMIT = 100

export interface CalledTool {
  readonly name: string
  readonly input: unknown
  readonly id?: string | undefined
}

export interface Judged {
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
  #wanted: WantedCall[] = []
  /** By the checked input, which is the object that runs. */
  readonly #outcomes = new WeakMap<object, Judged>()
  /** By call id: after an approval, the input returns as a copy. */
  readonly #decided = new LimitedMap<string, Judged>(WANTED_LIMIT)

  constructor(hooks: HostHooks) {
    this.hooks = hooks
  }

  begin(started: unknown, includesSession: boolean): void {
    const turnId = idOf(peek(started, 'callId'))
    const session = includesSession ? idOf(peek(peek(started, 'runtimeContext'), 'sessionId')) : undefined
    this.ids = { sessionId: session ?? turnId, turnId }
    this.refusal = undefined
    this.#wanted = []
    // Approved calls are checked again.
    for (const call of callsIn(peek(started, 'messages'))) this.wants(call)
  }

  stepBegins(stepNumber: number): void {
    const { turnId } = this.ids
    if (turnId !== undefined) this.ids = { ...this.ids, requestId: `${turnId}:${stepNumber + 1}` }
  }

  wants(call: WantedCall): void {
    this.#wanted.push(call)
    if (this.#wanted.length > WANTED_LIMIT) this.#wanted.shift()
  }

  async judged(called: CalledTool): Promise<Judged> {
    return this.#said(called) ?? (await this.judge(called))
  }

  isJudged({ input }: CalledTool): boolean {
    return isObject(input) && this.#outcomes.has(input)
  }

  async judge({ name, input, id }: CalledTool, signal?: AbortSignal): Promise<Judged> {
    const toolCallId = id ?? this.#claim(name, input)
    const tool = toolCallOf({ name, arguments: argumentsOf(input), id: toolCallId })
    const outcome = await this.hooks.run('beforeTool', this.idsOf(toolCallId), { tool }, signal)
    const isChanged = outcome.isRewritten && outcome.decision !== 'block'
    const judged = { outcome, input: isChanged ? inputOf(plainCopy(outcome.value), input) : input }
    if (isObject(judged.input)) this.#outcomes.set(judged.input, judged)
    if (toolCallId !== undefined) this.#decided.set(toolCallId, judged)
    return judged
  }

  idsOf(toolCallId: string | undefined): HookIds {
    return { ...this.ids, toolCallId }
  }

  #said({ input, id }: CalledTool): Judged | undefined {
    const known = isObject(input) ? this.#outcomes.get(input) : undefined
    if (known !== undefined || id === undefined) return known
    const decided = this.#decided.get(id)
    if (decided === undefined || !isSame(decided.input, input)) return undefined
    if (isObject(input)) this.#outcomes.set(input, decided)
    return decided
  }

  /** Finds the call's id by its input, or by name alone: the tool's schema may have transformed the input. */
  #claim(name: string, input: unknown): string | undefined {
    const named = this.#wanted.filter(call => call.name === name)
    const call = named.find(each => isSame(each.input, input)) ?? named[0]
    if (call !== undefined) this.#wanted = this.#wanted.filter(each => each !== call)
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

function callsIn(messages: unknown): readonly WantedCall[] {
  const asking = elementsOf(messages, MESSAGES_LIMIT, 'last').findLast(message => peek(message, 'role') === 'assistant')
  return elementsOf(peek(asking, 'content'), WANTED_LIMIT).flatMap(part => callOf(part) ?? [])
}
