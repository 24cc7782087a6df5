import { elementsOf, idOf, peek } from '../../contract/foreign.ts'
import { changedFields } from '../../guards/chain.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { type HookIds, type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../guards/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { callOf, type WantedCall } from './answers.ts'

const WANTED_LIMIT = 1000
const MESSAGES_LIMIT = 100

/** A call of a tool as the SDK has it. */
export interface CalledTool {
  readonly name: string
  readonly input: unknown
  readonly id?: string | undefined
}

/** What the hooks have said of a call of a tool. */
export interface Judged {
  readonly outcome: Outcome<'beforeTool'>
  /** What is to run, or would have. */
  readonly input: unknown
}

/** One call of the SDK: which it is, and what the hooks have said of its tools. */
export class GuardedCall {
  readonly hooks: HostHooks
  ids: HookIds = {}
  /** What is said instead of an answer, where the turn was blocked. */
  refusal: string | undefined
  /** Calls that nobody has looked at: the SDK does not say which one it is whose arguments may be refined. */
  #wanted: WantedCall[] = []
  /** By the arguments that were decided on, which are what runs. */
  readonly #outcomes = new WeakMap<object, Judged>()
  /** The same by the ids of their calls: what a person has granted comes back as a copy. */
  readonly #decided = new LimitedMap<string, Judged>(WANTED_LIMIT)

  constructor(hooks: HostHooks) {
    this.hooks = hooks
  }

  /** @param started the SDK's event */
  begin(started: unknown, includesSession: boolean): void {
    const turnId = idOf(peek(started, 'callId'))
    const session = includesSession ? idOf(peek(peek(started, 'runtimeContext'), 'sessionId')) : undefined
    this.ids = { sessionId: session ?? turnId, turnId }
    this.refusal = undefined
    this.#wanted = []
    // Calls that a person has granted are looked at again.
    for (const call of callsIn(peek(started, 'messages'))) this.wants(call)
  }

  /** @param stepNumber from 0 */
  stepBegins(stepNumber: number): void {
    const { turnId } = this.ids
    if (turnId !== undefined) this.ids = { ...this.ids, requestId: `${turnId}:${stepNumber + 1}` }
  }

  wants(call: WantedCall): void {
    this.#wanted.push(call)
    if (this.#wanted.length > WANTED_LIMIT) this.#wanted.shift()
  }

  /** What the hooks have said of these arguments; they are asked where they have not been. */
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

  /** By its arguments too, unless its schema has made others of them. */
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

/** A guard looks at fields: arguments that have none are one. */
export function argumentsOf(input: unknown): ToolArguments {
  return isObject(input) && !Array.isArray(input) ? (input as ToolArguments) : { input }
}

function isSame(one: unknown, other: unknown): boolean {
  return changedFields('beforeTool', argumentsOf(one), argumentsOf(other)).length === 0
}

function inputOf(args: ToolArguments, original: unknown): unknown {
  return argumentsOf(original) === original ? args : args['input']
}

/** The calls of the last message that made any. */
function callsIn(messages: unknown): readonly WantedCall[] {
  const asking = elementsOf(messages, MESSAGES_LIMIT, 'last').findLast(message => peek(message, 'role') === 'assistant')
  return elementsOf(peek(asking, 'content'), WANTED_LIMIT).flatMap(part => callOf(part) ?? [])
}
