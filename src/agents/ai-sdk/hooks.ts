/**
 * `hookspan/hooks/ai-sdk`: guards in the Vercel AI SDK 7. Read from `ai` 7.0.173 (`src/generate-text`, `src/agent`,
 * `src/middleware`), which is not a dependency.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { ignoreErrors, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { failClosedReason } from '../../guards/chain.ts'
import { toStandardError } from '../../guards/hook.ts'
import type { Capabilities, ControlHooks, HookInfo, Outcome, Phase } from '../../guards/index.ts'
import { HostHooks, toolCallOf } from '../../guards/index.ts'
import { type AttachOptions, toolHookTrace } from '../attach.ts'
import { injectedTexts, listOf, namedArguments } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type CallToolOptions, GuardedCall, guardedTools } from './guarded-tools.ts'
import {
  type AnswerContent,
  type AnswerFormat,
  type AnswerPart,
  type BufferedAnswer,
  injectTexts,
  messagesOf,
  type PromptMessage,
  requestedCallOf,
  rewritePrompt,
  streamFormat,
  textOfMessage,
  type WholeAnswer,
  wholeFormat,
  withFeedback,
  withText,
} from './model-content.ts'
import { plainError } from './types.ts'

export type { AttachOptions } from '../attach.ts'

const HOST = 'ai-sdk'
const CALLS_LIMIT = 1000

/** Decisions that the AI SDK accepts from hooks. */
export const ABLE: Capabilities = {
  beforeTurn: ['block', 'rewrite', 'inject'],
  afterTurn: ['block', 'rewrite', 'retry'],
  beforeModel: ['block', 'rewrite', 'inject'],
  afterModel: ['block', 'rewrite', 'retry'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['block', 'rewrite', 'retry'],
}

/** Guards for calls and agents of the SDK. */
export interface AiSdkHooks {
  /**
   * Adds the hooks to the options of one `generateText` or `streamText` call. The options' own functions
   * (`prepareStep`, `toolApproval`, `needsApproval` of a tool, …) stay in force.
   */
  guard<Options extends object>(options: Options): Options
  /** Adds the hooks to the settings of a `ToolLoopAgent`, for all its calls. */
  guardAgent<Settings extends object>(settings: Settings): Settings
}

type Prepare = (given: unknown) => unknown
type Listen = (event: unknown) => unknown

interface CallOptions extends CallToolOptions {
  readonly prepareStep?: Prepare | undefined
  readonly prepareCall?: Prepare | undefined
  readonly telemetry?: unknown
  readonly providerOptions?: object | undefined
  readonly onStart?: Listen | undefined
  readonly experimental_onStart?: Listen | undefined
  readonly onEnd?: Listen | undefined
  readonly onFinish?: Listen | undefined
  readonly onAbort?: Listen | undefined
  readonly onStepError?: Listen | undefined
}

/**
 * Attaches hooks to the AI SDK.
 *
 * @example
 * const hooks = attachHooks(createHooks([noRm]))
 * const { text } = await generateText(hooks.guard({ model, tools, prompt }))
 * const agent = new ToolLoopAgent(hooks.guardAgent({ model, tools }))
 */
export function attachHooks(hooks: ControlHooks, options: AttachOptions = {}): AiSdkHooks {
  const guard = new Guard(
    new HostHooks({ ...options, host: HOST, hooks, capabilities: ABLE, plugin: () => toolHookTrace(HOST) }),
    new StepModels(hooks.hooks, options.report),
  )
  return {
    guard: given => guard.call(given as CallOptions) as typeof given,
    guardAgent: given => guard.agent(given as CallOptions) as typeof given,
  }
}

class Guard {
  readonly #hooks: HostHooks
  readonly #models: StepModels
  /** Calls of agents by their `providerOptions`, which the SDK passes with the start event. */
  readonly #starting = new WeakMap<object, GuardedCall>()
  readonly #running = new LimitedMap<string, GuardedCall>(CALLS_LIMIT)

  constructor(hooks: HostHooks, models: StepModels) {
    this.#hooks = hooks
    this.#models = models
  }

  call(options: CallOptions): CallOptions {
    const call = new GuardedCall(this.#hooks)
    return { ...this.#withHooks(call, options), ...this.#withListeners(options, () => call) }
  }

  agent(settings: CallOptions): CallOptions {
    const prepareCall: Prepare = async given => {
      const prepared = ((await settings.prepareCall?.(given)) ?? given) as CallOptions
      const call = new GuardedCall(this.#hooks)
      const guarded = { ...this.#withHooks(call, prepared), providerOptions: { ...prepared.providerOptions } }
      this.#starting.set(guarded.providerOptions, call)
      return guarded
    }
    const callOf = (event: unknown): GuardedCall | undefined => {
      const known = peek(event, 'providerOptions')
      return typeof known === 'object' && known !== null ? this.#starting.get(known) : undefined
    }
    return { ...settings, prepareCall, ...this.#withListeners(settings, callOf) }
  }

  #withHooks(call: GuardedCall, options: CallOptions): CallOptions {
    const prepareStep: Prepare = async given => {
      const theirs = await options.prepareStep?.(given)
      return guardedStep(call, this.#models, given, theirs)
    }
    return { ...options, ...guardedTools(call, options), prepareStep }
  }

  #withListeners(options: CallOptions, callOf: (started: unknown) => GuardedCall | undefined): CallOptions {
    const { onStart = options.experimental_onStart, onEnd = options.onFinish, onAbort, onStepError } = options
    const isSessionTold = peek(peek(options.telemetry, 'includeRuntimeContext'), 'sessionId') === true
    const ending =
      (theirs: Listen | undefined): Listen =>
      event => {
        this.#endTurn(peek(event, 'callId'))
        return theirs?.(event)
      }
    return {
      onStart: event => {
        const call = callOf(event)
        call?.beginCall(event, isSessionTold)
        if (call?.ids.turnId !== undefined) this.#running.set(call.ids.turnId, call)
        return onStart?.(event)
      },
      onEnd: ending(onEnd),
      onAbort: ending(onAbort),
      onStepError: ending(onStepError),
    }
  }

  #endTurn(callId: unknown): void {
    const call = this.#running.get(String(callId))
    if (call === undefined) return
    this.#running.delete(String(callId))
    this.#hooks.endTurn(call.ids)
  }
}

async function guardedStep(call: GuardedCall, models: StepModels, given: unknown, theirs: unknown): Promise<unknown> {
  const stepNumber = numberOf(peek(given, 'stepNumber')) ?? 0
  const said = (name: string): unknown => peek(theirs, name) ?? peek(given, name)
  call.beginStep(stepNumber)
  const begun = stepNumber === 0 ? await runBeforeTurn(call, said('messages'), said('instructions')) : {}
  return { ...(theirs as object | undefined), ...begun, model: models.guardModel(call, said('model')) }
}

async function runBeforeTurn(call: GuardedCall, messages: unknown, instructions: unknown): Promise<object> {
  const all = listOf<PromptMessage>(messages)
  const prompt = all.at(-1)
  if (prompt?.['role'] !== 'user' || !call.hooks.handles('beforeTurn')) return {}
  const outcome = await call.hooks.run('beforeTurn', call.ids, { prompt: textOfMessage(prompt) })
  if (outcome.decision === 'block') {
    call.refusal = outcome.reason
    return {}
  }
  const said = outcome.isRewritten ? [...all.slice(0, -1), withText(prompt, outcome.value)] : all
  const system = injectedTexts('system', outcome.injected)
  const user = outcome.injected.filter(({ role }) => role === 'user')
  return {
    ...(outcome.isRewritten || user.length > 0 ? { messages: injectTexts(said, user) } : {}),
    ...(system.length > 0 ? { instructions: withInstructions(instructions, system) } : {}),
  }
}

function withInstructions(instructions: unknown, texts: readonly string[]): unknown {
  if (instructions === undefined || typeof instructions === 'string')
    return [textOf(instructions), ...texts].filter(text => text !== undefined).join('\n\n')
  const before = isArray(instructions) ? instructions : [instructions]
  return [...before, ...texts.map(content => ({ role: 'system', content }))]
}

const MODEL_PHASES: readonly Phase[] = ['beforeModel', 'afterModel', 'afterTurn']
const MAX_SHOWN = 60

/**
 * Wraps the models of steps. The SDK has already resolved the call's own model. A name returned by `prepareStep` is
 * resolved later, beyond our reach.
 */
class StepModels {
  readonly #modelHooks: readonly HookInfo[]
  readonly #report: (line: string) => void
  #isReported = false

  constructor(hooks: readonly HookInfo[], report: (line: string) => void = toStandardError) {
    this.#modelHooks = hooks.filter(({ phases }) => phases.some(phase => MODEL_PHASES.includes(phase)))
    this.#report = report
  }

  guardModel(call: GuardedCall, given: unknown): unknown {
    const model = typeof given === 'string' ? fromDefaultProvider(given) : given
    if (isModel(model)) return guardedModel(call, model)
    this.#handleUnguardable(call, given)
    return call.refusal === undefined ? given : guardedModel(call, refusingModel(given))
  }

  /** Hooks that cannot run count as failed: one with `onFailure: 'block'` blocks here too. */
  #handleUnguardable(call: GuardedCall, given: unknown): void {
    if (call.refusal !== undefined || this.#modelHooks.length === 0) return
    const closed = this.#modelHooks.find(({ onFailure }) => onFailure === 'block')
    if (closed !== undefined) call.refusal = failClosedReason(closed.name)
    if (this.#isReported) return
    this.#isReported = true
    const phases = MODEL_PHASES.filter(phase => this.#modelHooks.some(hook => hook.phases.includes(phase))).join(', ')
    const counted = closed === undefined ? 'pass' : 'block'
    ignoreErrors(() =>
      this.#report(
        `hookspan: ai-sdk: prepareStep gives ${describeModel(given)}: hooks cannot be asked in ${phases} of it, which counts as ${counted}; give the model itself, or set globalThis.AI_SDK_DEFAULT_PROVIDER`,
      ),
    )
  }
}

/**
 * Resolves a model name as the SDK does if `AI_SDK_DEFAULT_PROVIDER` is set. The SDK's built-in default is not
 * accessible.
 */
function fromDefaultProvider(name: string): unknown {
  const provider: unknown = peek(globalThis, 'AI_SDK_DEFAULT_PROVIDER')
  try {
    return (provider as { languageModel(name: string): unknown } | undefined)?.languageModel(name)
  } catch {
    // The SDK resolves it again and reports the error.
    return undefined
  }
}

function refusingModel(given: unknown): HostModel {
  const never = (): Promise<never> => Promise.reject(new Error('hookspan: this model answers for hooks alone'))
  return {
    specificationVersion: 'v4',
    provider: 'hookspan',
    modelId: textOf(given) ?? 'unknown',
    supportedUrls: {},
    doGenerate: never,
    doStream: never,
  }
}

function describeModel(given: unknown): string {
  return typeof given === 'string'
    ? `the model ${JSON.stringify(given.slice(0, MAX_SHOWN))} by its name`
    : 'what is no model'
}

interface Request {
  readonly prompt: readonly PromptMessage[]
  readonly abortSignal?: AbortSignal | undefined
}

interface StreamedAnswer {
  readonly stream: ReadableStream<AnswerPart>
}

interface HostModel {
  readonly specificationVersion?: unknown
  readonly provider?: unknown
  readonly modelId?: unknown
  readonly supportedUrls?: unknown
  doGenerate(request: Request): PromiseLike<WholeAnswer>
  doStream(request: Request): PromiseLike<StreamedAnswer>
}

/** A model given by name is a string, which only the SDK can resolve. */
function isModel(model: unknown): model is HostModel {
  return typeof peek(model, 'doGenerate') === 'function' && typeof peek(model, 'doStream') === 'function'
}

function guardedModel(call: GuardedCall, model: HostModel): HostModel {
  const { specificationVersion, provider, modelId, supportedUrls } = model
  const requests = new GuardedRequests(call, textOf(modelId))
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: request =>
      requests.requestAnswer(wholeFormat(specificationVersion), request, sent => model.doGenerate(sent)),
    doStream: async request => {
      const form = streamFormat(specificationVersion)
      if (requests.checksAnswers)
        return replayStream(await requests.requestAnswer(form, request, sent => bufferStream(model, sent)))
      const sent = await requests.requestToSend(request)
      return typeof sent === 'string'
        ? replayStream(form.fromText(sent))
        : withNotedCalls(call, await model.doStream(sent))
    },
  }
}

class GuardedRequests {
  readonly #call: GuardedCall
  readonly #model: string | undefined

  constructor(call: GuardedCall, model: string | undefined) {
    this.#call = call
    this.#model = model
  }

  /** An answer is checked before the application receives it, so a streamed one must be buffered. */
  get checksAnswers(): boolean {
    const { hooks } = this.#call
    return hooks.handles('afterModel') || hooks.handles('afterTurn')
  }

  async requestToSend(request: Request): Promise<Request | string> {
    const { refusal, hooks, ids } = this.#call
    if (refusal !== undefined) return refusal
    if (!hooks.handles('beforeModel')) return request
    const event = { model: this.#model, messages: messagesOf(request.prompt) }
    const outcome = await hooks.run('beforeModel', ids, event, request.abortSignal)
    if (outcome.decision === 'block') return outcome.reason ?? ''
    const prompt = outcome.isRewritten ? rewritePrompt(request.prompt, outcome.value) : request.prompt
    return outcome.injected.length + Number(outcome.isRewritten) === 0
      ? request
      : { ...request, prompt: injectTexts(prompt, outcome.injected) }
  }

  async requestAnswer<Result>(
    form: AnswerFormat<Result>,
    request: Request,
    ask: (request: Request) => PromiseLike<Result>,
  ): Promise<Result> {
    const tries = { afterModel: 0, afterTurn: 0 }
    for (let asked = request; ; ) {
      const sent = await this.requestToSend(asked)
      if (typeof sent === 'string') return form.fromText(sent)
      const answer = await settleAnswer(form, ask(sent))
      const verdict = await this.#checkAnswer(answer.said, tries, request.abortSignal)
      if (verdict.phase !== undefined) {
        tries[verdict.phase]++
        asked = { ...asked, prompt: withFeedback(asked.prompt, answer.said.text, verdict.feedback) }
        if (verdict.delayMillis > 0) await sleep(verdict.delayMillis, undefined, { signal: request.abortSignal })
        continue
      }
      if (!('result' in answer)) throw answer.thrown
      if (!verdict.alone) for (const call of answer.said.calls) this.#call.addRequestedCall(call)
      const isSame = !verdict.alone && verdict.text === answer.said.text
      return isSame ? answer.result : form.withText(answer.result, verdict.text, verdict.alone)
    }
  }

  async #checkAnswer(said: AnswerContent, tries: Tries, signal: AbortSignal | undefined): Promise<AnswerVerdict> {
    const { hooks, ids } = this.#call
    // The application has stopped the agent: no other answer is needed.
    if (signal?.aborted) return { text: said.text, alone: false }
    let verdict: AnswerVerdict = { text: said.text, alone: false }
    if (hooks.handles('afterModel')) {
      const event = this.#event(said, tries.afterModel)
      verdict = verdictOf('afterModel', await hooks.run('afterModel', ids, event, signal))
      if (verdict.phase !== undefined || verdict.alone) return verdict
    }
    if (said.calls.length > 0 || said.error !== undefined || !hooks.handles('afterTurn')) return verdict
    const event = { answer: verdict.text, attempt: tries.afterTurn }
    return verdictOf('afterTurn', await hooks.run('afterTurn', ids, event, signal))
  }

  #event({ text, calls, error, usage }: AnswerContent, attempt: number) {
    const toolCalls = calls.map(({ id, name, input }) => toolCallOf({ id, name, arguments: namedArguments(input) }))
    return {
      model: this.#model,
      text,
      toolCalls,
      attempt,
      usage,
      error: error === undefined ? undefined : errorOf(error),
    }
  }
}

type Tries = Record<'afterModel' | 'afterTurn', number>

type AnswerVerdict =
  | {
      readonly phase: keyof Tries
      readonly feedback: string | undefined
      readonly delayMillis: number
    }
  | { readonly phase?: undefined; readonly text: string; readonly alone: boolean }

function verdictOf(
  phase: keyof Tries,
  { decision, reason, delayMillis = 0, value }: Outcome<'afterModel'> | Outcome<'afterTurn'>,
): AnswerVerdict {
  if (decision === 'retry') return { phase, feedback: reason, delayMillis }
  return decision === 'block' ? { text: reason ?? '', alone: true } : { text: value, alone: false }
}

function errorOf(error: unknown) {
  const { name, statusCode, message } = plainError(error)
  return { type: name, status: statusCode, message }
}

type SettledAnswer<Result> =
  | { readonly result: Result; readonly said: AnswerContent }
  | { readonly thrown: unknown; readonly said: AnswerContent }

async function settleAnswer<Result>(
  form: AnswerFormat<Result>,
  asking: PromiseLike<Result>,
): Promise<SettledAnswer<Result>> {
  try {
    const result = await asking
    return { result, said: form.contentOf(result) }
  } catch (thrown) {
    return { thrown, said: { text: '', calls: [], error: thrown } }
  }
}

async function bufferStream(model: HostModel, request: Request): Promise<BufferedAnswer> {
  const { stream, ...rest } = await model.doStream(request)
  const chunks: AnswerPart[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  return { chunks, rest }
}

function replayStream({ chunks, rest }: BufferedAnswer): StreamedAnswer {
  const stream = new ReadableStream<AnswerPart>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  return { ...rest, stream }
}

function withNotedCalls(call: GuardedCall, answer: StreamedAnswer): StreamedAnswer {
  if (!call.hooks.handles('beforeTool')) return answer
  const transform = new TransformStream<AnswerPart, AnswerPart>({
    transform(chunk, controller) {
      const wanted = requestedCallOf(chunk)
      if (wanted !== undefined) call.addRequestedCall(wanted)
      controller.enqueue(chunk)
    },
  })
  return { ...answer, stream: answer.stream.pipeThrough(transform) }
}
