import { agentsRun, inTime } from './agents.ts'
import { numberFor, pickFor } from './chance.ts'
import {
  answerFor,
  commandFor,
  failureFor,
  type Model,
  messageFor,
  modelOf,
  patternFor,
  SMALL_MODEL,
  sideUsage,
  spelled,
} from './dressing.ts'
import { withRepeats } from './redelivery.ts'
import type { Scenario, WorkloadRecord } from './workload-record.ts'

export const AGENTS_SCENARIO = 'generated/agents'
const AGENTS_HOST = 'agents'

type Payload = Readonly<Record<string, unknown>>
type Wearing = (payload: Payload, at: number, wardrobe: Wardrobe) => Payload

/** What the records of one run have to agree on. */
interface Wardrobe {
  /** When the attempt began that is under way, by request. */
  readonly startedAt: Map<string, number>
  /** Of turns that fail: the last thing that they asked a model. */
  readonly hopeless: ReadonlySet<Payload>
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** `s3.c1~2` and `s3.c1.t2.r1` → `s3.c1`: a session by any of its ids. */
function conversationIn({ session_id, turn_id }: Payload): string {
  return text(session_id ?? turn_id).replace(/~.*|\.t\d.*/, '')
}

function modelIn(payload: Payload): Model {
  return payload['aux_task'] === undefined ? modelOf(conversationIn(payload)) : SMALL_MODEL
}

function named(payload: Payload): object {
  return { model: modelIn(payload).model }
}

function requestNamed(payload: Payload): object {
  const { model, provider, base_url } = modelIn(payload)
  return { model, provider, base_url, api_mode: 'chat_completions' }
}

const startRequest: Wearing = (payload, at, { startedAt }) => {
  const request = text(payload['api_request_id'])
  startedAt.set(request, at)
  const { model } = modelIn(payload)
  const messages = [
    { role: 'system', content: 'You are an agent of a workload.' },
    { role: 'user', content: messageFor(text(payload['turn_id'])) },
  ]
  const body = { model, messages, temperature: 0.2, max_tokens: 4096, stream: true }
  return { ...payload, ...requestNamed(payload), message_count: messages.length, tool_count: 4, request: { body } }
}

function timesOf(payload: Payload, at: number, { startedAt }: Wardrobe): object {
  const began = startedAt.get(text(payload['api_request_id'])) ?? at
  const seconds = (at - began) / 1000
  return { api_duration: seconds, started_at: began / 1000, ended_at: at / 1000 }
}

const endRequest: Wearing = (payload, at, wardrobe) => {
  const model = modelIn(payload)
  const times = timesOf(payload, at, wardrobe) as { readonly api_duration: number; readonly started_at: number }
  const content = answerFor(text(payload['api_request_id']))
  return {
    ...payload,
    ...requestNamed(payload),
    ...times,
    first_chunk_at: times.started_at + times.api_duration / 4,
    response_model: model.model,
    finish_reason: 'stop',
    response: { assistant_message: { role: 'assistant', content } },
    usage: spelled(payload['usage'] as Parameters<typeof spelled>[0], model),
  }
}

const failRequest: Wearing = (payload, at, wardrobe) => {
  const { usage: _never, ...asked } = payload
  const failure = failureFor(text(payload['api_request_id']))
  return {
    ...asked,
    ...requestNamed(payload),
    ...timesOf(payload, at, wardrobe),
    ...failure,
    max_retries: 3,
    retryable: !wardrobe.hopeless.has(payload),
  }
}

const endSideCall: Wearing = (payload, at, wardrobe) => {
  const told = { ...payload, ...requestNamed(payload), ...timesOf(payload, at, wardrobe) }
  if (payload['error_type'] !== undefined) return { ...told, error: 'the model did not answer' }
  return { ...told, finish_reason: 'stop', usage: sideUsage(text(payload['api_request_id'])) }
}

function argsFor({ tool_name, tool_call_id, turn_id, args }: Payload): object {
  if (tool_name === 'skill_view') return { args }
  const words = text(tool_call_id ?? turn_id)
  if (tool_name === 'terminal') return { args: { command: commandFor(words) } }
  if (tool_name === 'read_file') return { args: { path: `src/Größe/${words}.ts` } }
  return { args: { goal: messageFor(words) } }
}

const startTool: Wearing = payload => ({ ...payload, ...argsFor(payload) })

/** A script knows ok, error and blocked; what is no error to a host may have been called off. */
const endTool: Wearing = payload => {
  const words = `${text(payload['tool_call_id'])} ${text(payload['turn_id'])}`
  const told = { ...payload, ...argsFor(payload), duration_ms: numberFor(`duration ${words}`, 2, 4000) }
  if (payload['status'] === 'ok') return { ...told, result: JSON.stringify({ output: answerFor(words), exit_code: 0 }) }
  if (payload['status'] === 'blocked') return { ...told, result: JSON.stringify({ blocked: true, by: 'person' }) }
  const status = pickFor(`status ${words}`, ['error', 'error', 'cancelled', 'timeout'])
  if (status !== 'error') return { ...told, status, result: '' }
  return {
    ...told,
    error_type: 'ExitCode',
    error_message: 'exit code 1: größer als erlaubt',
    result: '{"exit_code": 1}',
  }
}

/** Without the id of its call an approval is known by its pattern alone. */
function approvalNamed(payload: Payload): object {
  const words = text(payload['tool_call_id'])
  const pattern = words === '' ? text(payload['pattern_key']) : patternFor(words)
  return { pattern_key: pattern, pattern_keys: [pattern], command: commandFor(words), surface: 'cli' }
}

const askApproval: Wearing = payload => ({ ...payload, ...approvalNamed(payload) })

const answerApproval: Wearing = payload => {
  const granted = pickFor(`choice ${text(payload['pattern_key'])}`, ['once', 'always', 'session'])
  const choice = payload['choice'] === 'once' ? granted : payload['choice']
  return { ...payload, ...approvalNamed(payload), choice, decided_by: 'person' }
}

const CHILD_STATUSES = ['ok', 'ok', 'completed', 'completed', 'failed', 'timeout']

const WARDROBE: Readonly<Record<string, Wearing>> = {
  on_session_start: payload => ({ ...payload, ...named(payload) }),
  pre_llm_call: payload => ({ ...payload, ...named(payload), user_message: messageFor(text(payload['turn_id'])) }),
  post_llm_call: payload => ({
    ...payload,
    ...named(payload),
    assistant_response: answerFor(text(payload['turn_id'])),
  }),
  on_session_end: payload => ({ ...payload, ...named(payload) }),
  pre_api_request: startRequest,
  post_api_request: endRequest,
  api_request_error: failRequest,
  pre_auxiliary_call: (payload, at, { startedAt }) => {
    startedAt.set(text(payload['api_request_id']), at)
    return { ...payload, ...requestNamed(payload) }
  },
  post_auxiliary_call: endSideCall,
  pre_tool_call: startTool,
  post_tool_call: endTool,
  pre_approval_request: askApproval,
  post_approval_response: answerApproval,
  subagent_start: payload => ({ ...payload, child_goal: messageFor(text(payload['child_session_id'])) }),
  subagent_stop: payload => {
    const child = text(payload['child_session_id'])
    return { ...payload, child_summary: answerFor(child), child_status: pickFor(`child ${child}`, CHILD_STATUSES) }
  },
}

/** The agents of the scripts with models, content, times and errors: they use several models, and some turns always fail. */
export function agentsScenario(): Scenario {
  const run = agentsRun()
  const timed = inTime(run).map(({ step: { record }, at }) => ({
    hook: record.hook,
    payload: (record.payload ?? {}) as Payload,
    at,
  }))
  const wardrobe: Wardrobe = { startedAt: new Map(), hopeless: hopelessAttempts(timed) }
  const records = timed.map(({ hook, payload, at }): WorkloadRecord => {
    const told = wardrobe.hopeless.has(payload) ? 'api_request_error' : hook
    const worn = WARDROBE[told]?.(payload, at, wardrobe) ?? payload
    return { hook: told, payload: worn, meta: { at, host: AGENTS_HOST } }
  })
  return { name: AGENTS_SCENARIO, records: withRepeats(records) }
}

/** The last success of a turn that fails, unless it asked for tools: the model never answered. */
function hopelessAttempts(records: readonly { readonly hook: string; readonly payload: Payload }[]): Set<Payload> {
  const failed = new Set(
    records.filter(({ payload }) => payload['failed'] === true).map(({ payload }) => payload['turn_id']),
  )
  const last = new Map<unknown, Payload>()
  const asking = new Set<unknown>()
  for (const { hook, payload } of records) {
    if (hook === 'post_api_request' && failed.has(payload['turn_id'])) last.set(payload['turn_id'], payload)
    if (hook === 'pre_tool_call') asking.add(payload['api_request_id'])
    // An attempt after it is one that was cut off.
    if (hook === 'pre_api_request') last.delete(payload['turn_id'])
  }
  return new Set([...last.values()].filter(payload => !asking.has(payload['api_request_id'])))
}
