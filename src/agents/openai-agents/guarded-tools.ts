import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { type HostHooks, type Outcome, type ToolArguments, toolCallOf } from '../../guards/index.ts'
import { isSameCall, namedArguments, settle, signalIn } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { currentError, currentRun, type Method, markAsFailed } from './live-sdk.ts'
import { type AgentToolCall, argumentsOf, LOCAL_TOOL_FORMATS, type LocalToolFormat } from './tool-calls.ts'

const NOT_AGREED = 'A hook would run something else than a person has agreed to: call it again.'

interface FunctionTool {
  readonly name: string
  invoke: Method
  needsApproval: Method
}

/** A tool that is no function: it holds an object of the application that does the work. */
type LocalTool = Record<string, unknown> & { needsApproval?: Method }

interface QuestionedCall {
  readonly called: AgentToolCall
  readonly outcome: Outcome<'beforeTool'> | undefined
  readonly waits: boolean
}

export class GuardedTools {
  readonly #hooks: HostHooks
  readonly #done = new WeakSet<object>()
  readonly #checked = new LimitedMap<string, { readonly name: string; readonly outcome: Outcome<'beforeTool'> }>(1000)
  /** Keyed by the operation: tools that are no functions receive nothing else. */
  readonly #questioned = new WeakMap<object, QuestionedCall>()
  readonly #reportedNames = new Set<string>()
  readonly #report: (line: string) => void

  constructor(hooks: HostHooks, report: (line: string) => void) {
    this.#hooks = hooks
    this.#report = report
  }

  /** Adds the hooks once, to the tool object itself: the SDK compares tools by identity. */
  guardTool(tool: unknown): void {
    if (!isObject(tool) || this.#done.has(tool)) return
    this.#done.add(tool)
    const form = LOCAL_TOOL_FORMATS.find(each => each.name === peek(tool, 'type'))
    const holder = form === undefined ? undefined : peek(tool, form.holderField)
    if (isFunctionTool(tool)) this.#guardFunction(tool)
    else if (form !== undefined && isObject(holder)) this.#guardLocal(tool as LocalTool, form, holder)
    else if (runsHere(tool)) this.#reportUnguarded(tool)
  }

  #guardFunction(tool: FunctionTool): void {
    const { invoke, needsApproval, name } = tool
    tool.invoke = (context, input, details) => {
      const id = textOf(peek(peek(details, 'toolCall'), 'callId'))
      const run = (text: unknown): unknown => invoke.call(tool, context, text, details)
      return this.#invokeFunction({ id, name, args: argumentsOf(input) }, context, input, signalIn(details), run)
    }
    if (!this.#hooks.handles('beforeTool')) return
    tool.needsApproval = async (context, input, callId) => {
      const said = { id: textOf(callId), name, args: namedArguments(input) }
      const { decision } = this.#knownOutcome(said) ?? (await this.checkCall(said))
      // A blocked call does not run, even if approved.
      if (decision === 'block') return false
      const needed = await needsApproval.call(tool, context, input, callId)
      return decision === 'ask' ? true : needed
    }
  }

  /** Wraps the application's object. Its methods receive the operation, and neither the call id nor the approval. */
  #guardLocal(tool: LocalTool, form: LocalToolFormat, holder: object): void {
    const { needsApproval } = tool
    const method: Method = (asked, context) =>
      this.#runLocal(form, asked as object, each => {
        const run = peek(holder, form.methodOf(each)) as Method
        return run.call(holder, each, context)
      })
    tool[form.holderField] = withMethods(holder, Object.fromEntries(form.methods.map(name => [name, method])))
    tool.needsApproval = async (context, asked, callId) => {
      const called = { id: textOf(callId), name: form.name, args: form.argumentsOf(asked), format: form }
      const isJudged = this.#hooks.handles('beforeTool')
      const outcome = isJudged ? (this.#knownOutcome(called) ?? (await this.checkCall(called))) : undefined
      const needed = outcome?.decision !== 'block' && (await needsApproval?.call(tool, context, asked, callId))
      const waits = outcome?.decision === 'ask' || Boolean(needed)
      this.#questioned.set(asked as object, { called, outcome, waits })
      return waits
    }
  }

  #reportUnguarded(tool: object): void {
    const name = textOf(peek(tool, 'name')) ?? String(peek(tool, 'type'))
    const isLookedAt = this.#hooks.handles('beforeTool') || this.#hooks.handles('afterTool')
    if (!isLookedAt || this.#reportedNames.has(name)) return
    this.#reportedNames.add(name)
    this.#report(`no hook is asked about the tool ${name}, which runs here`)
  }

  /** Runs the hooks. The outcome is valid until the tool has run with these arguments. */
  async checkCall(call: AgentToolCall, signal?: AbortSignal): Promise<Outcome<'beforeTool'>> {
    const { id, name, args } = call
    const tool = toolCallOf({ name, arguments: args, id })
    const ids = { ...currentRun().ids, toolCallId: id }
    const outcome = blockImpossible(call, await this.#hooks.run('beforeTool', ids, { tool }, signal))
    if (id !== undefined) this.#checked.set(id, { name, outcome })
    return outcome
  }

  #knownOutcome({ id, name, args }: AgentToolCall): Outcome<'beforeTool'> | undefined {
    const judged = id === undefined ? undefined : this.#checked.get(id)
    return judged?.name === name && isSameCall(judged.outcome.value, args) ? judged.outcome : undefined
  }

  async #invokeFunction(
    called: AgentToolCall,
    context: unknown,
    given: unknown,
    signal: AbortSignal | undefined,
    run: (input: unknown) => unknown,
  ): Promise<unknown> {
    if (!this.#hooks.handles('beforeTool')) return this.#checkResult(called, signal, () => run(given))
    const known = this.#knownOutcome(called)
    const outcome = known ?? (await this.checkCall(called, signal))
    if (called.id !== undefined) this.#checked.delete(called.id)
    if (outcome.decision === 'block') return blockReason(outcome)
    const isGranted = known !== undefined || isApproved(context, called)
    if (outcome.decision === 'ask' && !isGranted)
      return `A person has to be asked first, which is not possible here: ${outcome.reason}`
    if (known === undefined && outcome.isRewritten && isGranted) return NOT_AGREED
    const input = outcome.isRewritten ? JSON.stringify(outcome.value) : given
    return this.#checkResult({ ...called, args: outcome.value }, signal, () => run(input))
  }

  async #runLocal(form: LocalToolFormat, asked: object, run: (asked: object) => unknown): Promise<unknown> {
    const args = form.argumentsOf(asked)
    const noted = this.#questioned.get(asked)
    this.#questioned.delete(asked)
    const called = noted?.called ?? { id: this.#idOf(form.name, args), name: form.name, args, format: form }
    if (!this.#hooks.handles('beforeTool')) return this.#checkResult(called, undefined, () => run(asked))
    const outcome = noted?.outcome ?? this.#knownOutcome(called) ?? (await this.checkCall(called))
    if (called.id !== undefined) this.#checked.delete(called.id)
    if (outcome.decision === 'block') return form.blockedResult(blockReason(outcome))
    // A call without a question to the tool was approved before, maybe in another process, with its original arguments.
    const isGranted = noted?.waits ?? true
    const isOther = !isSameCall(outcome.value, args)
    if (isOther && isGranted) return form.blockedResult(NOT_AGREED)
    const sent = (isOther ? form.operationWith(outcome.value) : undefined) ?? asked
    return this.#checkResult({ ...called, args: outcome.value }, undefined, () => run(sent))
  }

  #idOf(name: string, args: ToolArguments): string | undefined {
    for (const [id, judged] of this.#checked)
      if (judged.name === name && isSameCall(judged.outcome.value, args)) return id
    return undefined
  }

  async #checkResult(called: AgentToolCall, signal: AbortSignal | undefined, run: () => unknown): Promise<unknown> {
    if (!this.#hooks.handles('afterTool')) return run()
    const { id, name, args, format: form } = called
    const tool = toolCallOf({ name, arguments: args, id })
    const ids = { ...currentRun().ids, toolCallId: id }
    for (let attempt = 0; ; attempt++) {
      const { result, error, isError, isThrown } = await settleRun(run)
      const given = form === undefined ? result : form.resultOf(result)
      const said = isThrown ? textOf(peek(error, 'message')) : given
      const event = { tool, result: said, isError: isError || form?.isFailure(result) === true, attempt }
      const outcome = await this.#hooks.run('afterTool', ids, event, signal)
      if (outcome.decision === 'block')
        return form === undefined ? outcome.reason : form.blockedResult(outcome.reason ?? '')
      if (outcome.decision !== 'retry') {
        const value = outcome.isRewritten ? plainCopy(outcome.value) : undefined
        if (outcome.isRewritten) return form === undefined ? value : form.resultWith(result, value)
        if (isThrown) throw error
        return result
      }
      await sleep(outcome.delayMillis ?? 0, undefined, { signal })
    }
  }
}

/** Returns the answer for the model. Otherwise the SDK would trace a tool that succeeded. */
function blockReason({ by, reason }: Outcome<'beforeTool'>): string {
  markAsFailed(`Kept from running by the hook ${by}`)
  return reason ?? ''
}

/** Blocks a call that hooks rewrote to something that cannot run. The original must not run either. */
function blockImpossible({ format: form, name }: AgentToolCall, outcome: Outcome<'beforeTool'>): Outcome<'beforeTool'> {
  if (form === undefined || !outcome.isRewritten || outcome.decision === 'block') return outcome
  if (form.operationWith(outcome.value) !== undefined) return outcome
  const by = outcome.runs.findLast(({ verdict }) => verdict === 'rewrite')?.hook
  const reason = `The hook ${by} has made of this call of ${name} what cannot be run: call it otherwise.`
  return { ...outcome, decision: 'block', by, reason, isRewritten: false }
}

/** `isError` is also true if the SDK caught the exception and gives the model a text instead. */
async function settleRun(run: () => unknown) {
  const before = currentError()
  const { result, error, isError: isThrown } = await settle((async () => run())())
  const failure = currentError()
  const hasFailed = failure !== undefined && failure !== null && failure !== before
  return { result, error, isThrown, isError: isThrown || hasFailed }
}

function isFunctionTool(tool: unknown): tool is FunctionTool {
  return peek(tool, 'type') === 'function' && typeof peek(tool, 'invoke') === 'function'
}

/**
 * Tools of the provider run there, except a tool search that the application implements. A `shell` without the application's
 * object runs in the provider's container.
 */
function runsHere(tool: object): boolean {
  const type = peek(tool, 'type')
  if (type === 'hosted_tool') return peek(peek(tool, 'providerData'), 'execution') === 'client'
  return type !== 'shell'
}

/** True if the user has approved this call, maybe in another process. */
function isApproved(context: unknown, { name, id }: AgentToolCall): boolean {
  const ask = peek(context, 'isToolApproved')
  return typeof ask === 'function' && ask.call(context, { toolName: name, callId: id }) === true
}

/** Replaces methods of an object. All others run on the object itself, which may have private fields. */
export function withMethods(object: object, methods: Readonly<Record<string, unknown>>): object {
  return new Proxy(object, {
    get: (target, key) => {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
