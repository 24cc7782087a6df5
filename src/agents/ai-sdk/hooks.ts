/**
 * `hookspan/hooks/ai-sdk`: guards in the Vercel AI SDK 7. Read from `ai` 7.0.173 (`src/generate-text`, `src/agent`,
 * `src/middleware`), which is not a dependency.
 */
import { ignoreErrors, isArray, isObject, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { failClosedReason } from '../../guards/chain.ts'
import { toStandardError } from '../../guards/hook.ts'
import { type Capabilities, type ControlHooks, type HookInfo, HostHooks, type Phase } from '../../guards/index.ts'
import { type AttachOptions, toolHookTrace } from '../attach.ts'
import { injectedTexts, listOf } from '../base/guard-values.ts'
import { type AnswerFormat, type GuardedRequest, guardedAnswer, requestToSend } from '../base/guarded-answer.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type Callback, type CallToolOptions, GuardedCall, guardedTools } from './guarded-tools.ts'
import type { BufferedAnswer, Part, Request, WholeAnswer } from './model-content.ts'
import { injectTexts, streamFormat, textOfMessage, wholeFormat, withText } from './model-content.ts'

export type { AttachOptions } from '../attach.ts'

const HOST = 'ai-sdk'

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

type Listener = 'onStart' | 'experimental_onStart' | 'onEnd' | 'onFinish' | 'onAbort' | 'onStepError'

interface CallOptions
  extends CallToolOptions,
    Readonly<Partial<Record<Listener | 'prepareStep' | 'prepareCall', Callback | undefined>>> {
  readonly telemetry?: unknown
  readonly providerOptions?: object | undefined
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
    hooks.hooks,
    options.report,
  )
  return {
    guard: given => guard.call(given as CallOptions) as typeof given,
    guardAgent: given => guard.agent(given as CallOptions) as typeof given,
  }
}

class Guard {
  readonly #hooks: HostHooks
  readonly #modelHooks: readonly HookInfo[]
  readonly #report: (line: string) => void
  #isReported = false
  /** Calls of agents by their `providerOptions`, which the SDK passes with the start event. */
  readonly #starting = new WeakMap<object, GuardedCall>()
  readonly #running = new LimitedMap<string, GuardedCall>(1000)

  constructor(hooks: HostHooks, infos: readonly HookInfo[], report: (line: string) => void = toStandardError) {
    this.#hooks = hooks
    this.#modelHooks = infos.filter(({ phases }) => phases.some(phase => MODEL_PHASES.includes(phase)))
    this.#report = report
  }

  call(options: CallOptions): CallOptions {
    const call = new GuardedCall(this.#hooks)
    return { ...this.#withHooks(call, options), ...this.#withListeners(options, () => call) }
  }

  agent(settings: CallOptions): CallOptions {
    const prepareCall: Callback = async given => {
      const prepared = ((await settings.prepareCall?.(given)) ?? given) as CallOptions
      const call = new GuardedCall(this.#hooks)
      const guarded = { ...this.#withHooks(call, prepared), providerOptions: { ...prepared.providerOptions } }
      this.#starting.set(guarded.providerOptions, call)
      return guarded
    }
    const callOf = (event: unknown): GuardedCall | undefined => {
      const known = peek(event, 'providerOptions')
      return isObject(known) ? this.#starting.get(known) : undefined
    }
    return { ...settings, prepareCall, ...this.#withListeners(settings, callOf) }
  }

  #withHooks(call: GuardedCall, options: CallOptions): CallOptions {
    const prepareStep: Callback = async given => this.#guardedStep(call, given, await options.prepareStep?.(given))
    return { ...options, ...guardedTools(call, options), prepareStep }
  }

  #withListeners(options: CallOptions, callOf: (started: unknown) => GuardedCall | undefined): CallOptions {
    const { onStart = options.experimental_onStart, onEnd = options.onFinish, onAbort, onStepError } = options
    const isSessionTold = peek(peek(options.telemetry, 'includeRuntimeContext'), 'sessionId') === true
    const ending =
      (theirs: Callback | undefined): Callback =>
      event => {
        const id = String(peek(event, 'callId'))
        const call = this.#running.get(id)
        this.#running.delete(id)
        if (call !== undefined) this.#hooks.endTurn(call.ids)
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

  async #guardedStep(call: GuardedCall, given: unknown, theirs: unknown): Promise<unknown> {
    const stepNumber = numberOf(peek(given, 'stepNumber')) ?? 0
    const said = (name: string): unknown => peek(theirs, name) ?? peek(given, name)
    call.beginStep(stepNumber)
    const begun = stepNumber === 0 ? await runBeforeTurn(call, said('messages'), said('instructions')) : {}
    return { ...(theirs as object | undefined), ...begun, model: this.#guardedModel(call, said('model')) }
  }

  /**
   * Wraps the model of a step. The SDK has already resolved the call's own model. A name returned by `prepareStep` is
   * resolved later, beyond our reach.
   */
  #guardedModel(call: GuardedCall, given: unknown): unknown {
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
    const counted = `hooks cannot be asked in ${phases} of it, which counts as ${closed === undefined ? 'pass' : 'block'}`
    const advice = 'give the model itself, or set globalThis.AI_SDK_DEFAULT_PROVIDER'
    const model =
      typeof given === 'string' ? `the model ${JSON.stringify(given.slice(0, 60))} by its name` : 'what is no model'
    ignoreErrors(() => this.#report(`hookspan: ai-sdk: prepareStep gives ${model}: ${counted}; ${advice}`))
  }
}

async function runBeforeTurn(call: GuardedCall, messages: unknown, instructions: unknown): Promise<object> {
  const all = listOf<Part>(messages)
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

/** Resolves a model name as the SDK does if `AI_SDK_DEFAULT_PROVIDER` is set. The SDK's built-in default is not accessible. */
function fromDefaultProvider(name: string): unknown {
  const provider: unknown = peek(globalThis, 'AI_SDK_DEFAULT_PROVIDER')
  // If it throws, the SDK resolves the name again and reports the error.
  return ignoreErrors(() => (provider as { languageModel(name: string): unknown } | undefined)?.languageModel(name))
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

type StreamedAnswer = { readonly stream: ReadableStream<Part> }

interface HostModel
  extends Partial<Record<'specificationVersion' | 'provider' | 'modelId' | 'supportedUrls', unknown>> {
  doGenerate(request: Request): PromiseLike<WholeAnswer>
  doStream(request: Request): PromiseLike<StreamedAnswer>
}

/** A model given by name is a string, which only the SDK can resolve. */
function isModel(model: unknown): model is HostModel {
  return typeof peek(model, 'doGenerate') === 'function' && typeof peek(model, 'doStream') === 'function'
}

function guardedModel(call: GuardedCall, model: HostModel): HostModel {
  const { specificationVersion, provider, modelId, supportedUrls } = model
  const { hooks } = call
  const guardedRequest = ({ abortSignal: signal }: Request): GuardedRequest => {
    return { hooks, ids: call.ids, model: textOf(modelId), signal, checksTurn: true }
  }
  const requestAnswer = async <Result extends WholeAnswer | BufferedAnswer>(
    format: AnswerFormat<Request, Result>,
    request: Request,
    send: (request: Request) => PromiseLike<Result>,
  ): Promise<Result> => {
    if (call.refusal !== undefined) return format.fromText(call.refusal)
    const result = await guardedAnswer(guardedRequest(request), format, request, send)
    for (const part of result.content) call.noteCall(part)
    return result
  }
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: request => requestAnswer(wholeFormat(specificationVersion), request, sent => model.doGenerate(sent)),
    doStream: async request => {
      const format = streamFormat(specificationVersion)
      // An answer is checked before the application receives it, so a streamed one must be buffered.
      if (hooks.handles('afterModel') || hooks.handles('afterTurn'))
        return replayStream(await requestAnswer(format, request, sent => bufferStream(model, sent)))
      const sent = call.refusal ?? (await requestToSend(guardedRequest(request), format, request))
      if (typeof sent === 'string') return replayStream(format.fromText(sent))
      return withNotedCalls(call, await model.doStream(sent))
    },
  }
}

async function bufferStream(model: HostModel, request: Request): Promise<BufferedAnswer> {
  const { stream, ...rest } = await model.doStream(request)
  const content: Part[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) content.push(next.value)
  return { content, rest }
}

function replayStream({ content, rest }: BufferedAnswer): StreamedAnswer {
  const stream = new ReadableStream<Part>({
    start(controller) {
      for (const chunk of content) controller.enqueue(chunk)
      controller.close()
    },
  })
  return { ...rest, stream }
}

function withNotedCalls(call: GuardedCall, answer: StreamedAnswer): StreamedAnswer {
  if (!call.hooks.handles('beforeTool')) return answer
  const transform = new TransformStream<Part, Part>({
    transform(chunk, controller) {
      call.noteCall(chunk)
      controller.enqueue(chunk)
    },
  })
  return { ...answer, stream: answer.stream.pipeThrough(transform) }
}
