import { setTimeout as sleep } from 'node:timers/promises'
import { peek, textOf } from '../../contract/foreign.ts'
import { toolCallOf } from '../../guards/index.ts'
import {
  type AnswerForm,
  callOf,
  type HeldAnswer,
  type Part,
  type Said,
  streamForm,
  type WholeAnswer,
  wholeForm,
} from './answers.ts'
import { plainError } from './failure.ts'
import { argumentsOf, type GuardedCall } from './guarded-call.ts'
import { injected, messagesOf, type PromptMessage, rewritten, withFeedback } from './prompt-texts.ts'

interface Request {
  readonly prompt: readonly PromptMessage[]
  readonly abortSignal?: AbortSignal | undefined
}

interface StreamedAnswer {
  readonly stream: ReadableStream<Part>
}

/** A model as providers implement it. */
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

/** Wraps a model, so that hooks check its requests and answers. */
export function guardedModel(call: GuardedCall, model: HostModel): HostModel {
  const { specificationVersion, provider, modelId, supportedUrls } = model
  const requests = new Requests(call, textOf(modelId))
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: request => requests.answered(wholeForm(specificationVersion), request, sent => model.doGenerate(sent)),
    doStream: async request => {
      const form = streamForm(specificationVersion)
      if (requests.judges) return released(await requests.answered(form, request, sent => held(model, sent)))
      const sent = await requests.sent(request)
      return typeof sent === 'string' ? released(form.made(sent)) : noted(call, await model.doStream(sent))
    },
  }
}

class Requests {
  readonly #call: GuardedCall
  readonly #model: string | undefined

  constructor(call: GuardedCall, model: string | undefined) {
    this.#call = call
    this.#model = model
  }

  /** An answer is checked before the application receives it, so a streamed one must be buffered. */
  get judges(): boolean {
    const { hooks } = this.#call
    return hooks.handles('afterModel') || hooks.handles('afterTurn')
  }

  /** Returns the request to send, or the text to answer instead. */
  async sent(request: Request): Promise<Request | string> {
    const { refusal, hooks, ids } = this.#call
    if (refusal !== undefined) return refusal
    if (!hooks.handles('beforeModel')) return request
    const event = { model: this.#model, messages: messagesOf(request.prompt) }
    const outcome = await hooks.run('beforeModel', ids, event, request.abortSignal)
    if (outcome.decision === 'block') return outcome.reason ?? ''
    const prompt = outcome.isRewritten ? rewritten(request.prompt, outcome.value) : request.prompt
    return outcome.injected.length + Number(outcome.isRewritten) === 0
      ? request
      : { ...request, prompt: injected(prompt, outcome.injected) }
  }

  async answered<Result>(
    form: AnswerForm<Result>,
    request: Request,
    ask: (request: Request) => PromiseLike<Result>,
  ): Promise<Result> {
    const tries = { afterModel: 0, afterTurn: 0 }
    for (let asked = request; ; ) {
      const sent = await this.sent(asked)
      if (typeof sent === 'string') return form.made(sent)
      const answer = await settled(form, ask(sent))
      const verdict = await this.#judged(answer.said, tries, request.abortSignal)
      if (verdict.phase !== undefined) {
        tries[verdict.phase]++
        asked = { ...asked, prompt: withFeedback(asked.prompt, answer.said.text, verdict.feedback) }
        if (verdict.delayMillis > 0) await sleep(verdict.delayMillis, undefined, { signal: request.abortSignal })
        continue
      }
      if (!('result' in answer)) throw answer.thrown
      if (!verdict.alone) for (const call of answer.said.calls) this.#call.wants(call)
      const isSame = !verdict.alone && verdict.text === answer.said.text
      return isSame ? answer.result : form.withText(answer.result, verdict.text, verdict.alone)
    }
  }

  async #judged(said: Said, tries: Tries, signal: AbortSignal | undefined): Promise<Judgement> {
    const { hooks, ids } = this.#call
    // The application has stopped the agent: no other answer is needed.
    if (signal?.aborted) return { text: said.text, alone: false }
    let { text } = said
    if (hooks.handles('afterModel')) {
      const outcome = await hooks.run('afterModel', ids, this.#event(said, tries.afterModel), signal)
      if (outcome.decision === 'retry') return again('afterModel', outcome)
      if (outcome.decision === 'block') return { text: outcome.reason ?? '', alone: true }
      text = outcome.value
    }
    if (said.calls.length > 0 || said.error !== undefined || !hooks.handles('afterTurn')) return { text, alone: false }
    const outcome = await hooks.run('afterTurn', ids, { answer: text, attempt: tries.afterTurn }, signal)
    if (outcome.decision === 'retry') return again('afterTurn', outcome)
    if (outcome.decision === 'block') return { text: outcome.reason ?? '', alone: true }
    return { text: outcome.value, alone: false }
  }

  #event({ text, calls, error, usage }: Said, attempt: number) {
    const toolCalls = calls.map(({ id, name, input }) => toolCallOf({ id, name, arguments: argumentsOf(input) }))
    const failure = error === undefined ? undefined : errorOf(error)
    return { model: this.#model, text, toolCalls, attempt, usage, error: failure }
  }
}

type Tries = Record<'afterModel' | 'afterTurn', number>

type Judgement =
  | {
      readonly phase: keyof Tries
      readonly feedback: string | undefined
      readonly delayMillis: number
    }
  | { readonly phase?: undefined; readonly text: string; readonly alone: boolean }

function again(
  phase: keyof Tries,
  { reason, delayMillis }: { readonly reason: string | undefined; readonly delayMillis: number | undefined },
): Judgement {
  return { phase, feedback: reason, delayMillis: delayMillis ?? 0 }
}

function errorOf(error: unknown): {
  type: string | undefined
  status: number | undefined
  message: string | undefined
} {
  const { name, statusCode, message } = plainError(error)
  return { type: name, status: statusCode, message }
}

type Settled<Result> =
  | { readonly result: Result; readonly said: Said }
  | { readonly thrown: unknown; readonly said: Said }

async function settled<Result>(form: AnswerForm<Result>, asking: PromiseLike<Result>): Promise<Settled<Result>> {
  try {
    const result = await asking
    return { result, said: form.said(result) }
  } catch (thrown) {
    return { thrown, said: { text: '', calls: [], error: thrown } }
  }
}

async function held(model: HostModel, request: Request): Promise<HeldAnswer> {
  const { stream, ...rest } = await model.doStream(request)
  const chunks: Part[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  return { chunks, rest }
}

function released({ chunks, rest }: HeldAnswer): StreamedAnswer {
  const stream = new ReadableStream<Part>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  return { ...rest, stream }
}

/** Forwards chunks immediately, and notes the tool calls among them. */
function noted(call: GuardedCall, answer: StreamedAnswer): StreamedAnswer {
  if (!call.hooks.handles('beforeTool')) return answer
  const transform = new TransformStream<Part, Part>({
    transform(chunk, controller) {
      const wanted = callOf(chunk)
      if (wanted !== undefined) call.wants(wanted)
      controller.enqueue(chunk)
    },
  })
  return { ...answer, stream: answer.stream.pipeThrough(transform) }
}
