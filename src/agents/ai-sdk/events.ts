import { booleanOf, elementsOf, idOf, keysOf, peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { type EventHandlers, EventMachine, eventHandlers, type TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { RecordScope } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import type { ControlHookName } from '../base/tool-hooks.ts'
import type { TurnResult } from '../base/turn.ts'
import type { HostMachine, LoosePayload } from '../host-event.ts'
import { Approvals, type Decision, decisionsOf, tellWaiting } from './approvals.ts'
import { Call, providerOf } from './call.ts'
import { type Failure, isAborted, isStreamLeft, plainError } from './failure.ts'
import { callOf, partsOf, promptOf, tokensOf } from './messages.ts'

const OPEN_LIMIT = 1000
/** After this time without an event, a call is over: its stream was not read to the end. */
const STALE_MILLIS = 600_000

/** Calls that are turns. All others (`ai.embed`, `ai.rerank`, …) are one request each. */
const TURNS: ReadonlySet<string> = new Set(['ai.generateText', 'ai.streamText', 'ai.generateObject', 'ai.streamObject'])

/** Events that repeat others, and the extra lines of captures. */
const QUIET = ['onStepFinish', 'onEmbedStart', 'onEmbedEnd', 'onRerankStart', 'onRerankEnd', 'RESULT', 'THROWN']

export function createAiSdkMachine(): HostMachine {
  return new AiSdkMachine()
}

class AiSdkMachine extends EventMachine {
  readonly #calls = new LimitedMap<string, Call>(OPEN_LIMIT)
  readonly #sideCalls = new LimitedMap<string, ModelRequest>(OPEN_LIMIT)
  /** The call that is a session's open turn. */
  readonly #turns = new LimitedMap<string, Call>(OPEN_LIMIT)
  readonly #approvals = new Approvals()

  protected readonly events: EventHandlers = eventHandlers(
    {
      onStart: moment => this.#starts(moment),
      onStepStart: moment => this.#in(moment, call => this.#stepStarts(call)),
      onObjectStepStart: moment => this.#in(moment, call => this.#objectStarts(call, moment)),
      onLanguageModelCallStart: moment => this.#in(moment, call => this.#requestStarts(call, moment)),
      attemptStart: moment => this.#in(moment, call => call.attemptStarts(moment.at)),
      attemptError: moment => this.#in(moment, call => call.requestFails(moment.at, errorOf(moment))),
      onLanguageModelCallEnd: moment => this.#in(moment, call => call.answerCame(moment.at, moment.data)),
      onToolExecutionStart: moment => this.#tool(moment, (call, asked) => call.toolStarts(moment.at, asked)),
      onToolExecutionEnd: moment => this.#tool(moment, (call, asked) => call.toolEnds(moment.at, asked, moment.data)),
      onStepEnd: moment => this.#in(moment, call => this.#stepEnds(call, moment)),
      onObjectStepEnd: moment => this.#in(moment, call => this.#objectEnds(call, moment)),
      onStepError: moment => this.#in(moment, call => this.#fails(call, moment.at, call.failure ?? errorOf(moment))),
      onEnd: moment => this.#ends(moment),
      pre_control_hook: moment => this.#controlHook('pre_control_hook', moment),
      post_control_hook: moment => this.#controlHook('post_control_hook', moment),
      onAbort: moment => this.#in(moment, call => this.#fails(call, moment.at, ABORTED)),
      onError: moment => this.#errs(moment),
    },
    QUIET,
  )

  /** Nested calls end first: the newest is the deepest. */
  protected endSessions(at: number): void {
    for (const call of [...this.#calls.values()].reverse())
      this.#over(call, Math.max(at, call.lastAt), 'interrupted', 'cut_off')
  }

  #starts({ at, data, context }: TimedEvent): void {
    const id = idOf(peek(data, 'callId'))
    // Two registered integrations report every event twice.
    if (id === undefined || this.#calls.has(id) || this.#sideCalls.has(id)) return
    const caller = this.#calls.get(idOf(peek(context, 'callId')) ?? '')
    const operation = textOf(peek(data, 'operationId')) ?? 'ai.generateText'
    if (!TURNS.has(operation)) this.#sideCallStarts(id, at, operation, data, caller)
    else if (caller === undefined) this.#turnStarts(id, at, data)
    else this.#childStarts(id, at, data, caller, idOf(peek(context, 'toolCallId')) ?? '')
  }

  #turnStarts(id: string, at: number, data: unknown): void {
    const decisions = decisionsOf(peek(data, 'messages'))
    const call = new Call(this.records, this.#sessionOf(id, at, data, decisions), id, at, data)
    this.#turns.set(call.sessionId ?? id, call)
    this.#open(call, at, data, decisions)
  }

  /** A tool calls the SDK: a child agent in a session of its own. */
  #childStarts(id: string, at: number, data: unknown, caller: Call, toolCallId: string): void {
    const delegation = new DelegatedTask(this.records, at, {
      parent_session_id: caller.sessionId,
      parent_turn_id: caller.turnId,
      child_session_id: id,
      child_role: textOf(peek(data, 'functionId')),
      tool_call_id: caller.toldToolId(toolCallId),
    })
    delegation.emitStart(promptOf(data))
    this.#open(new Call(this.records, id, id, at, data, delegation), at, data, [])
  }

  #open(call: Call, at: number, data: unknown, decisions: readonly Decision[]): void {
    this.#calls.set(call.id, call)
    const model = peek(data, 'modelId')
    call.emit('on_session_start', at, { agent_name: textOf(peek(data, 'functionId')), ...belongingsOf(data) })
    call.emit('pre_llm_call', at, {
      user_message: promptOf(data),
      conversation_history: peek(data, 'messages'),
      model,
      provider: providerOf(data),
    })
    this.#approvals.decided(call, at, decisions)
  }

  #sideCallStarts(id: string, at: number, operation: string, data: unknown, caller: Call | undefined): void {
    const scope = caller ?? new RecordScope(this.records, sessionIn(data) ?? id)
    const request = new ModelRequest(scope, at, { id, task: operation.replace(/^ai\./, '') })
    this.#sideCalls.set(id, request)
    const input = peek(data, 'value') ?? peek(data, 'query')
    request.emitStart({
      model: peek(data, 'modelId'),
      provider: providerOf(data),
      messages: input === undefined ? undefined : [{ role: 'user', content: input }],
    })
  }

  #stepStarts(call: Call): void {
    call.isStepOpen = true
  }

  #requestStarts(call: Call, { at, data }: TimedEvent): void {
    call.asked = data
    call.requestStarts(at)
  }

  /** `generateObject` reports a step, but not the request in it. */
  #objectStarts(call: Call, moment: TimedEvent): void {
    this.#stepStarts(call)
    this.#requestStarts(call, moment)
  }

  #objectEnds(call: Call, { at, data }: TimedEvent): void {
    call.isStepOpen = false
    call.requestEnds(at, data, {
      response: { assistant_message: { role: 'assistant', content: peek(data, 'objectText') } },
      response_model: peek(peek(data, 'response'), 'modelId'),
      response_id: peek(peek(data, 'response'), 'id'),
    })
  }

  #stepEnds(call: Call, { at, data }: TimedEvent): void {
    const content = peek(data, 'content')
    this.#approvals.asked(call, at, content)
    for (const part of partsOf(content, 'tool-approval-response')) {
      const asked = callOf(peek(part, 'toolCall'))
      const reason = textOf(peek(part, 'reason'))
      if (asked !== undefined && booleanOf(peek(part, 'approved')) === false)
        call.toolIsKept(at, asked, { status: 'blocked', error_message: reason })
    }
    for (const part of partsOf(content, 'tool-error')) {
      const asked = callOf(part)
      const { name, message } = plainError(peek(part, 'error'))
      if (asked !== undefined) call.toolIsKept(at, asked, { status: 'error', error_type: name, error_message: message })
    }
    call.stepEnds()
  }

  /** Emitted by guards, not by the SDK. */
  #controlHook(hook: ControlHookName, { at, data }: TimedEvent): void {
    const payload = data as LoosePayload<'post_control_hook'>
    const call = this.#calls.get(idOf(peek(payload, 'turn_id')) ?? '')
    if (call === undefined) this.records.addRecord(hook, at, payload)
    else call.controlHookRan(hook, at, payload)
  }

  #ends({ at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'callId')) ?? ''
    const side = this.#sideCalls.get(id)
    this.#sideCalls.delete(id)
    side?.emitAnswer(at, { usage: tokensOf(peek(data, 'usage')) })
    const call = this.#calls.get(id)
    if (call === undefined) return
    const error = peek(data, 'error') ?? call.failure
    if (error !== undefined) this.#fails(call, at, plainError(error))
    else if (call.waiting.length > 0) this.#over(call, at, 'interrupted', 'approval')
    else this.#over(call, at, 'completed', undefined, peek(data, 'text') ?? peek(data, 'object'))
  }

  /** While a step is open, its own end or that of the call follows. */
  #errs(moment: TimedEvent): void {
    const { at, data } = moment
    const id = idOf(peek(data, 'callId')) ?? ''
    const side = this.#sideCalls.get(id)
    this.#sideCalls.delete(id)
    const failure = errorOf(moment)
    side?.emitFailure(at, { error: { type: failure.name, message: failure.message }, error_type: failure.name })
    const call = this.#calls.get(id)
    if (call === undefined) return
    call.failure ??= failure
    if (call.isStepOpen) call.requestFails(at, failure)
    else this.#fails(call, at, call.failure)
  }

  #fails(call: Call, at: number, failure: Failure): void {
    call.requestFails(at, failure)
    if (isStreamLeft(failure)) this.#over(call, at, 'interrupted', 'stream_left')
    else if (isAborted(failure)) this.#over(call, at, 'interrupted', 'aborted')
    else this.#over(call, at, 'failed', call.requests.failures > 0 ? 'model_error' : (failure.name ?? 'error'))
  }

  #over(call: Call, at: number, outcome: TurnResult, reason?: string, answer?: unknown): void {
    this.#calls.delete(call.id)
    const session = call.sessionId ?? ''
    if (this.#turns.get(session) === call) this.#turns.delete(session)
    call.leave(at)
    call.emitAnswer(at, answer)
    call.emitEnd(at, { outcome, reason })
    call.delegation?.emitEnd(at, { status: outcome, summary: answer })
    tellWaiting(call)
    call.forget()
  }

  /** Concurrent calls in one session do not interrupt each other: all but the first get a session of their own. */
  #sessionOf(id: string, at: number, data: unknown, decisions: readonly Decision[]): string {
    const session = sessionIn(data) ?? this.#approvals.sessionOf(decisions) ?? id
    const open = this.#turns.get(session)
    if (open === undefined) return session
    // A tool may run longer than that.
    if (open.hasOpenTools || at - open.lastAt <= STALE_MILLIS) return `${session}:${id}`
    this.#over(open, open.lastAt, 'interrupted', 'cut_off')
    return session
  }

  #in({ at, data }: TimedEvent, take: (call: Call) => void): void {
    const call = this.#calls.get(idOf(peek(data, 'callId')) ?? '')
    if (call === undefined) return
    call.lastAt = Math.max(call.lastAt, at)
    take(call)
  }

  #tool(moment: TimedEvent, take: (call: Call, asked: NonNullable<ReturnType<typeof callOf>>) => void): void {
    const asked = callOf(peek(moment.data, 'toolCall'))
    if (asked !== undefined) this.#in(moment, call => take(call, asked))
  }
}

const ABORTED: Failure = { name: 'AbortError', message: undefined, statusCode: undefined, isRetryable: false }

function errorOf({ data }: TimedEvent): Failure {
  return plainError(peek(data, 'error'))
}

/** The user includes the session in the SDK's runtime context by this name. */
function sessionIn(data: unknown): string | undefined {
  return idOf(peek(peek(data, 'runtimeContext'), 'sessionId'))
}

const NAMED: ReadonlySet<string> = new Set(['sessionId', 'userId', 'tags'])
const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])
const BELONGINGS_LIMIT = 32

function belongingsOf(data: unknown): { user_id: unknown; tags: unknown; metadata: unknown } {
  const context = peek(data, 'runtimeContext')
  const others = keysOf(context, BELONGINGS_LIMIT).flatMap(key => {
    const value = peek(context, key)
    return NAMED.has(key) || !SCALARS.has(typeof value) ? [] : [[key, value]]
  })
  const tags = elementsOf(peek(context, 'tags'), BELONGINGS_LIMIT).filter(tag => textOf(tag) !== undefined)
  return {
    user_id: idOf(peek(context, 'userId')),
    tags: tags.length === 0 ? undefined : tags,
    metadata: others.length === 0 ? undefined : Object.fromEntries(others),
  }
}
