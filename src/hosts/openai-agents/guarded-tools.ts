import { setTimeout as sleep } from 'node:timers/promises'
import { isArray, peek, textOf } from '../../contract/foreign.ts'
import { changedFields } from '../../hooks/answers.ts'
import { plainCopy } from '../../hooks/frozen-copy.ts'
import { type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../hooks/index.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { currentRun, markAsFailed } from './current-run.ts'

const CALLS_LIMIT = 1000

type Method = (this: unknown, ...args: unknown[]) => unknown

/** A function tool of the SDK. */
export interface HostTool {
  readonly name: string
  invoke: Method
  needsApproval: Method
}

/** A call of a tool. */
export interface CalledTool {
  readonly id: string | undefined
  readonly name: string
  readonly args: ToolArguments
}

interface Judged {
  readonly name: string
  readonly args: ToolArguments
  readonly outcome: Outcome<'beforeTool'>
}

/** What hooks say of calls of tools, from the answer that asks for one to its result. */
export class GuardedTools {
  readonly #hooks: HostHooks
  readonly #done = new WeakSet<object>()
  /** By the id of the call. */
  readonly #judged = new LimitedMap<string, Judged>(CALLS_LIMIT)

  constructor(hooks: HostHooks) {
    this.#hooks = hooks
  }

  /** Puts the hooks into a tool, once. Into the tool itself: the SDK knows its tools by what they are. */
  guard(tool: unknown): void {
    if (!isFunctionTool(tool) || this.#done.has(tool)) return
    this.#done.add(tool)
    const { invoke, needsApproval } = tool
    const { name } = tool
    tool.invoke = (context, input, details) => {
      const id = textOf(peek(peek(details, 'toolCall'), 'callId'))
      const run = (text: unknown): unknown => invoke.call(tool, context, text, details)
      return this.#invoke({ id, name, args: argumentsOf(input) }, { input, details, context }, run)
    }
    if (!this.#hooks.handles('beforeTool')) return
    tool.needsApproval = async (context, input, callId) => {
      const said = { id: textOf(callId), name, args: isPlain(input) ? input : { input } }
      const { decision } = this.#known(said) ?? (await this.judge(said))
      // It does not run, whoever says yes.
      if (decision === 'block') return false
      const needed = await needsApproval.call(tool, context, input, callId)
      return decision === 'ask' ? true : needed
    }
  }

  /** Asks the hooks. What they say counts until the tool has run with these arguments. */
  async judge({ id, name, args }: CalledTool, signal?: AbortSignal): Promise<Outcome<'beforeTool'>> {
    const tool = toolCallOf({ name, arguments: args, id })
    const ids = { ...currentRun().ids, toolCallId: id }
    const outcome = await this.#hooks.run('beforeTool', ids, { tool }, signal)
    if (id !== undefined) this.#judged.set(id, { name, args: outcome.value, outcome })
    return outcome
  }

  #known({ id, name, args }: CalledTool): Outcome<'beforeTool'> | undefined {
    const judged = id === undefined ? undefined : this.#judged.get(id)
    return judged?.name === name && isSame(judged.args, args) ? judged.outcome : undefined
  }

  async #invoke(called: CalledTool, how: Invocation, run: (input: unknown) => unknown): Promise<unknown> {
    const signal = signalOf(how.details)
    if (!this.#hooks.handles('beforeTool')) return this.#watched(called, signal, () => run(how.input))
    const known = this.#known(called)
    const outcome = known ?? (await this.judge(called, signal))
    if (called.id !== undefined) this.#judged.delete(called.id)
    if (outcome.decision === 'block') return refused(outcome)
    const isGranted = known !== undefined || isApproved(how.context, called)
    if (outcome.decision === 'ask' && !isGranted)
      return `A person has to be asked first, which is not possible here: ${outcome.reason}`
    if (known === undefined && outcome.isRewritten && isGranted)
      return 'A hook would run something else than a person has agreed to: call it again.'
    const input = outcome.isRewritten ? JSON.stringify(outcome.value) : how.input
    return this.#watched({ ...called, args: outcome.value }, signal, () => run(input))
  }

  async #watched(
    { id, name, args }: CalledTool,
    signal: AbortSignal | undefined,
    run: () => unknown,
  ): Promise<unknown> {
    if (!this.#hooks.handles('afterTool')) return run()
    const tool = toolCallOf({ name, arguments: args, id })
    const ids = { ...currentRun().ids, toolCallId: id }
    for (let attempt = 0; ; attempt++) {
      const { result, error, isError } = await settled(run)
      const said = isError ? textOf(peek(error, 'message')) : result
      const outcome = await this.#hooks.run('afterTool', ids, { tool, result: said, isError, attempt }, signal)
      if (outcome.decision === 'block') return outcome.reason
      if (outcome.decision !== 'retry') {
        if (outcome.isRewritten) return plainCopy(outcome.value)
        if (isError) throw error
        return result
      }
      await sleep(outcome.delayMillis ?? 0, undefined, { signal })
    }
  }
}

/** The answer for the model. What the SDK would trace is a tool that ran. */
function refused({ by, reason }: Outcome<'beforeTool'>): string {
  markAsFailed(`Kept from running by the hook ${by}`)
  return reason ?? ''
}

interface Invocation {
  readonly input: unknown
  readonly details: unknown
  readonly context: unknown
}

async function settled(run: () => unknown): Promise<{ result?: unknown; error?: unknown; isError: boolean }> {
  try {
    return { result: await run(), isError: false }
  } catch (error) {
    return { error, isError: true }
  }
}

function isFunctionTool(tool: unknown): tool is HostTool {
  return peek(tool, 'type') === 'function' && typeof peek(tool, 'invoke') === 'function'
}

/** What the model has said, as JSON: a text that is none is one field for those who look at fields. */
export function argumentsOf(input: unknown): ToolArguments {
  try {
    const args: unknown = typeof input === 'string' ? JSON.parse(input) : input
    return isPlain(args) ? args : { input: args }
  } catch {
    return { input }
  }
}

function isPlain(value: unknown): value is ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value)
}

function isSame(one: ToolArguments, other: ToolArguments): boolean {
  return changedFields('beforeTool', one, other).length === 0
}

/** Whether a person has said yes to this call, maybe in another process. */
function isApproved(context: unknown, { name, id }: CalledTool): boolean {
  const ask = peek(context, 'isToolApproved')
  return typeof ask === 'function' && ask.call(context, { toolName: name, callId: id }) === true
}

function signalOf(details: unknown): AbortSignal | undefined {
  const signal = peek(details, 'signal')
  return signal instanceof AbortSignal ? signal : undefined
}
