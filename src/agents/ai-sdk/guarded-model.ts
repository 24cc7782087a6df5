import { setTimeout as sleep } from 'node:timers/promises'
import { peek, textOf } from '../../contract/foreign.ts'
import { type Outcome, toolCallOf } from '../../guards/index.ts'
import { namedArguments } from '../base/guard-values.ts'
import type { GuardedCall } from './guarded-tools.ts'
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
  type WholeAnswer,
  wholeFormat,
  withFeedback,
} from './model-content.ts'
import { plainError } from './types.ts'

interface Request {
  readonly prompt: readonly PromptMessage[]
  readonly abortSignal?: AbortSignal | undefined
}

interface StreamedAnswer {
  readonly stream: ReadableStream<AnswerPart>
}

export interface HostModel {
  readonly specificationVersion?: unknown
  readonly provider?: unknown
  readonly modelId?: unknown
  readonly supportedUrls?: unknown
  doGenerate(request: Request): PromiseLike<WholeAnswer>
  doStream(request: Request): PromiseLike<StreamedAnswer>
}

/** A model given by name is a string, which only the SDK can resolve. */
export function isModel(model: unknown): model is HostModel {
  return typeof peek(model, 'doGenerate') === 'function' && typeof peek(model, 'doStream') === 'function'
}

export function guardedModel(call: GuardedCall, model: HostModel): HostModel {
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
