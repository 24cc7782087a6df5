import { setTimeout as sleep } from 'node:timers/promises'
import type { AfterModel, HookIds, HostHooks, Injection, ModelMessage, Outcome } from '../../guards/index.ts'
import { settle } from './guard-values.ts'

/** An answer as guards see it. `error`: the exception of the request, or the error in a streamed answer. */
export type AnswerContent = Pick<AfterModel, 'text' | 'toolCalls' | 'usage'> & { readonly error?: unknown }

export interface AnswerFormat<Request, Result> {
  messagesOf(request: Request): ModelMessage[]
  withMessages(request: Request, messages: readonly ModelMessage[], injections: readonly Injection[]): Request
  withFeedback(request: Request, answer: string, feedback: string | undefined): Request
  contentOf(result: Result): AnswerContent
  errorOf(error: unknown): AfterModel['error']
  /** @param dropsCalls the text is the whole answer, without its tool calls */
  withText(result: Result, text: string, dropsCalls: boolean): Result
  fromText(text: string): Result
}

/** `checksTurn`: an answer without tool calls ends the turn, and `afterTurn` hooks check it. */
export interface GuardedRequest {
  readonly hooks: HostHooks
  readonly ids: HookIds
  readonly model: string | undefined
  readonly signal: AbortSignal | undefined
  readonly checksTurn: boolean
}

/** Runs the hooks before a request. Returns the request to send, or the text that answers it instead. */
export async function requestToSend<Request, Result>(
  { hooks, ids, model, signal }: GuardedRequest,
  format: AnswerFormat<Request, Result>,
  request: Request,
): Promise<Request | string> {
  if (!hooks.handles('beforeModel')) return request
  const outcome = await hooks.run('beforeModel', ids, { model, messages: format.messagesOf(request) }, signal)
  if (outcome.decision === 'block') return outcome.reason ?? ''
  const isChanged = outcome.isRewritten || outcome.injected.length > 0
  return isChanged ? format.withMessages(request, outcome.value, outcome.injected) : request
}

/** Sends a request with hooks around it, again as long as a hook wants another answer. */
export async function guardedAnswer<Request, Result>(
  guarded: GuardedRequest,
  format: AnswerFormat<Request, Result>,
  request: Request,
  send: (request: Request) => PromiseLike<Result>,
): Promise<Result> {
  const { hooks, checksTurn } = guarded
  const isChecked = hooks.handles('afterModel') || (checksTurn && hooks.handles('afterTurn'))
  const tries: Tries = { afterModel: 0, afterTurn: 0 }
  for (let asked = request; ; ) {
    const sent = await requestToSend(guarded, format, asked)
    if (typeof sent === 'string') return format.fromText(sent)
    if (!isChecked) return send(sent)
    const { result, error, isError } = await settle(send(sent))
    const said = isError ? { text: '', toolCalls: [], error } : format.contentOf(result as Result)
    const checked = await checkAnswer(guarded, format, said, tries)
    const { decision, value = said.text, reason, delayMillis } = checked?.outcome ?? {}
    if (checked !== undefined && decision === 'retry') {
      tries[checked.phase] += 1
      asked = format.withFeedback(asked, said.text, reason)
      if (delayMillis) await sleep(delayMillis, undefined, { signal: guarded.signal })
    } else if (isError) throw error
    else if (decision === 'block') return format.withText(result as Result, reason ?? '', true)
    else if (value === said.text) return result as Result
    else return format.withText(result as Result, value, false)
  }
}

type Tries = Record<'afterModel' | 'afterTurn', number>

interface CheckedAnswer {
  readonly phase: keyof Tries
  readonly outcome: Outcome<'afterModel'> | Outcome<'afterTurn'>
}

/** Returns the outcome of the last hook that has checked an answer; undefined if there is none. */
async function checkAnswer<Request, Result>(
  { hooks, ids, model, signal, checksTurn }: GuardedRequest,
  format: AnswerFormat<Request, Result>,
  { text, toolCalls, usage, error }: AnswerContent,
  tries: Tries,
): Promise<CheckedAnswer | undefined> {
  // The application has stopped the agent: no other answer is needed.
  if (signal?.aborted) return undefined
  let checked: CheckedAnswer | undefined
  if (hooks.handles('afterModel')) {
    const failure = error === undefined ? undefined : format.errorOf(error)
    const event = { model, text, toolCalls, attempt: tries.afterModel, usage, error: failure }
    checked = { phase: 'afterModel', outcome: await hooks.run('afterModel', ids, event, signal) }
  }
  const { decision, value = text } = checked?.outcome ?? {}
  const isFinal = checksTurn && toolCalls.length === 0 && error === undefined && hooks.handles('afterTurn')
  if (decision === 'block' || decision === 'retry' || !isFinal) return checked
  const event = { answer: value, attempt: tries.afterTurn }
  return { phase: 'afterTurn', outcome: await hooks.run('afterTurn', ids, event, signal) }
}
