import type { ReceivedEvent } from '../../src/receiver/recorder.ts'

/** When it happens: so lately that nobody takes it for over. */
const BEGAN_AT = Date.now() - 60_000

/** Milliseconds since it began, hook, payload. */
type Step = readonly [number, string, object]

function usage(input_tokens: number): object {
  return { usage: { input_tokens, output_tokens: 7, total_tokens: input_tokens + 7 } }
}

/** A model request that takes 100 ms. */
function asked(at: number, ids: object, api_request_id: string, tokens: number): Step[] {
  const request = { ...ids, api_request_id, model: 'qwen3', provider: 'openai' }
  return [
    [at, 'pre_api_request', request],
    [at + 100, 'post_api_request', { ...request, ...usage(tokens) }],
  ]
}

/** Two turns of one session: tools at once, one of which a person has to allow, a child agent; then a short one. */
export function twoTurns(session_id = 's1'): Step[] {
  const ids = { session_id, turn_id: `${session_id}.t1` }
  const one = { ...ids, tool_name: 'terminal', tool_call_id: `${session_id}.c1`, args: { command: 'make' } }
  const other = { ...ids, tool_name: 'read_file', tool_call_id: `${session_id}.c2`, args: { path: 'a.txt' } }
  const delegate = { ...ids, tool_name: 'delegate_task', tool_call_id: `${session_id}.c3`, args: { goal: 'look' } }
  const child = { session_id: `${session_id}.child`, turn_id: `${session_id}.child.t1` }
  const delegation = { parent_session_id: session_id, parent_turn_id: ids.turn_id, child_session_id: child.session_id }
  const approval = { ...ids, tool_call_id: `${session_id}.c1`, tool_name: 'terminal', command: 'make', surface: 'cli' }
  const second = { session_id, turn_id: `${session_id}.t2` }
  return [
    [0, 'on_session_start', { session_id, model: 'qwen3', platform: 'cli' }],
    [20, 'pre_llm_call', { ...ids, model: 'qwen3', platform: 'cli', user_message: 'build it' }],
    ...asked(30, ids, `${session_id}.r1`, 100),
    [140, 'pre_tool_call', one],
    [141, 'pre_tool_call', other],
    [150, 'pre_approval_request', approval],
    [180, 'post_tool_call', { ...other, status: 'ok', result: 'text' }],
    [400, 'post_approval_response', { ...approval, choice: 'once' }],
    [900, 'post_tool_call', { ...one, status: 'ok', result: 'built' }],
    [910, 'pre_tool_call', delegate],
    [920, 'subagent_start', { ...delegation, child_role: 'researcher', tool_call_id: `${session_id}.c3` }],
    [930, 'on_session_start', { session_id: child.session_id, model: 'small' }],
    [940, 'pre_llm_call', { ...child, model: 'small', user_message: 'look' }],
    ...asked(950, child, `${session_id}.cr`, 40),
    [1060, 'post_llm_call', { ...child, assistant_response: 'found', model: 'small' }],
    [1070, 'on_session_end', { ...child, completed: true }],
    [1080, 'subagent_stop', { ...delegation, child_status: 'completed', child_summary: 'found' }],
    [1090, 'post_tool_call', { ...delegate, status: 'ok', result: 'found' }],
    ...asked(1100, ids, `${session_id}.r2`, 160),
    [1210, 'post_llm_call', { ...ids, assistant_response: 'done', model: 'qwen3' }],
    [1220, 'on_session_end', { ...ids, completed: true, interrupted: false }],
    [3000, 'pre_llm_call', { ...second, model: 'qwen3', platform: 'cli', user_message: 'thanks' }],
    ...asked(3010, second, `${session_id}.r3`, 200),
    [3120, 'post_llm_call', { ...second, assistant_response: 'welcome', model: 'qwen3' }],
    [3130, 'on_session_end', { ...second, completed: true, interrupted: false }],
  ]
}

/** As an agent tells them that has no machine here: hook records. */
export function toldOf(steps: readonly Step[], host = 'agent'): ReceivedEvent[] {
  return steps.map(([millis, event, data], index) => ({
    host: '',
    id: `${host} ${index}`,
    event: { event, at: BEGAN_AT + millis, data, context: { host } },
  }))
}

/** Two stories told at once, each in its own order. */
export function shuffled(
  stories: readonly [readonly ReceivedEvent[], readonly ReceivedEvent[]],
  order: Iterable<boolean>,
): ReceivedEvent[] {
  const [one, other] = [[...stories[0]], [...stories[1]]]
  const told: ReceivedEvent[] = []
  for (const isOne of order) {
    const next = (isOne ? (one.shift() ?? other.shift()) : (other.shift() ?? one.shift())) as ReceivedEvent | undefined
    if (next === undefined) break
    told.push(next)
  }
  return told
}
