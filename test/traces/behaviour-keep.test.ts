/** Why a turn is worth keeping: on the root of its trace, and nowhere else. */
import { expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { answered, asked, began, childTurn, delegated, seriesText, TURN, used } from './scenes.ts'

const REASON = 'hermes.sampling.reason'

function plugin(steps: readonly Step[], keep: object | boolean) {
  return told(steps, { keep } as object)
}

/** Of each span that says it: whether it is the trace's root, and what it says. */
function reasons(steps: readonly Step[], keep: object | boolean): readonly string[] {
  return plugin(steps, keep)
    .spans()
    .filter(span => span.attributes[REASON] !== undefined)
    .map(({ parentSpanId, attributes }) => `${parentSpanId === undefined ? 'root' : 'below'}: ${attributes[REASON]}`)
}

function turn(...middle: readonly Step[]): Step[] {
  return [...began(), ...middle, ...answered(20_000)]
}

const approval = (from: number, to: number, choice: string, key = 'p'): Step[] => [
  [from, 'pre_approval_request', { ...TURN, pattern_key: key }],
  [to, 'post_approval_response', { ...TURN, pattern_key: key, choice }],
]

const FAILED_CALL = used(30, {}, { status: 'error', error_type: 'x' })
const RETRIED: Step[] = [
  [30, 'pre_api_request', { ...TURN, api_request_id: 'r1', model: 'm' }],
  [40, 'api_request_error', { ...TURN, api_request_id: 'r1', model: 'm', retryable: true, error: { type: 'rate' } }],
  ...asked(60),
]
const CHILD_FAILS: Step[] = [
  delegated(30),
  [40, 'on_session_start', { session_id: 'C', model: 'small' }],
  [45, 'pre_llm_call', { session_id: 'C', turn_id: 'ct1' }],
  [50, 'on_session_end', { session_id: 'C', turn_id: 'ct1', failed: true }],
  [60, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
]
const CHILD_WAITS: Step[] = [
  delegated(30),
  [40, 'on_session_start', { session_id: 'C', model: 'small' }],
  [45, 'pre_llm_call', { session_id: 'C', turn_id: 'ct1' }],
  [50, 'pre_approval_request', { session_id: 'C', turn_id: 'ct1', pattern_key: 'p' }],
  [19_950, 'post_approval_response', { session_id: 'C', turn_id: 'ct1', pattern_key: 'p', choice: 'deny' }],
  [19_960, 'on_session_end', { session_id: 'C', turn_id: 'ct1', completed: true }],
  [19_970, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
]
const CHILD_USES: Step[] = [
  delegated(30),
  ...childTurn(40, 'C', 'ct1', { prompt_tokens: 90, completion_tokens: 10 }),
  [200, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }],
]

test.each<[string, readonly Step[], object | boolean, readonly string[]]>([
  ['nothing is asked for', turn(...FAILED_CALL), false, []],
  ['a turn in which all went well', turn(...asked(30), ...used(140)), true, ['root: none']],
  ['a turn that failed', [...began(), ...answered(900, { completed: false, failed: true })], true, ['root: error']],
  ['a turn that its user stops', [...began(), ...answered(900, { interrupted: true })], true, ['root: none']],
  ['a tool that failed', turn(...FAILED_CALL), true, ['root: error']],
  ['a request that was tried again', turn(...RETRIED), true, ['root: error']],
  ['a child agent that failed', turn(...CHILD_FAILS), true, ['root: error']],
  ['errors are no reason', turn(...FAILED_CALL), { errors: false }, ['root: none']],
  ['an approval that is denied', turn(...approval(30, 90, 'deny')), { denied: true }, ['root: denied']],
  ['an unanswered one', turn(...approval(30, 90, 'timeout')), { denied: true }, ['root: denied']],
  ['one that is granted', turn(...approval(30, 90, 'once')), { denied: true }, ['root: none']],
  ['denials are no reason', turn(...approval(30, 90, 'deny')), true, ['root: none']],
  ['an escalated approval', turn(...approval(30, 90, 'escalated')), { denied: true }, ['root: none']],
  ['a tool that is stopped', turn(...used(30, {}, { status: 'blocked' })), { denied: true }, ['root: denied']],
  ['a denial of a child', turn(...CHILD_WAITS), { denied: true }, ['root: denied']],
  ['a turn that takes long', turn(), { slower_than_ms: 19_000 }, ['root: slow']],
  ['a turn that waits for the user', turn(...approval(30, 19_000, 'once')), { slower_than_ms: 5000 }, ['root: none']],
  ['a child that waits for the user', turn(...CHILD_WAITS), { slower_than_ms: 5000 }, ['root: none']],
  [
    'two questions at once are one wait',
    turn(...approval(30, 9000, 'once'), ...approval(40, 9100, 'once', 'q')),
    { slower_than_ms: 5000 },
    ['root: slow'],
  ],
  [
    'waits may count as slow',
    turn(...approval(30, 19_000, 'once')),
    { slower_than_ms: 5000, waits_count: true },
    ['root: slow'],
  ],
  ['the usage of a child', turn(...CHILD_USES), { tokens_over: 99 }, ['root: tokens']],
  ['and no more than that', turn(...CHILD_USES), { tokens_over: 100 }, ['root: none']],
  ['a reported cost', turn(...asked(30, {}, { cost: 0.25 })), { cost_over: 0.2 }, ['root: cost']],
  ['a tool that is asked for', turn(...used(30, { tool_name: 'Terminal' })), { tools: ['TERMINAL'] }, ['root: tool']],
  ['another tool', turn(...used(30)), { tools: ['term'] }, ['root: none']],
  ['all of the rest', turn(), { rate: 1 }, ['root: rate']],
  ['none of the rest', turn(), { rate: 0 }, ['root: none']],
])('decides on the turn: %s', (_, steps, keep, expected) => {
  expect(reasons(steps, keep)).toEqual(expected)
})

const STARTED: Step[] = [
  delegated(30),
  [40, 'on_session_start', { session_id: 'C', model: 'small' }],
  [45, 'pre_llm_call', { session_id: 'C', turn_id: 'ct1' }],
]
const childEnds = (at: number, how: object): Step => [at, 'on_session_end', { session_id: 'C', turn_id: 'ct1', ...how }]
const stops = (at: number, child_status: string, child = 'C'): Step => [
  at,
  'subagent_stop',
  { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: child, child_status },
]
const CHILD_TOOL = used(25_000, { session_id: 'C', turn_id: 'ct1' }, { status: 'error' })
const GRANDCHILD: Step = [
  60,
  'subagent_start',
  { parent_session_id: 'C', parent_turn_id: 'ct1', child_session_id: 'G', child_role: 'inner' },
]

test.each<[string, readonly Step[], object | boolean, readonly string[]]>([
  [
    'a child whose turn fails when its parent is over',
    [...turn(...STARTED), childEnds(30_000, { failed: true }), stops(30_010, 'completed')],
    true,
    ['root: none', 'below: error'],
  ],
  [
    'a child whose tool fails when its parent is over',
    [...turn(...STARTED), ...CHILD_TOOL, childEnds(30_000, { completed: true }), stops(30_010, 'completed')],
    true,
    ['root: none', 'below: error'],
  ],
  [
    'a child that goes well when its parent is over',
    [...turn(...STARTED), childEnds(90_000, { completed: true }), stops(90_010, 'completed')],
    { slower_than_ms: 60_000 },
    ['root: none'],
  ],
  [
    'a child that costs too much when its parent is over',
    [...turn(delegated(30), ...childTurn(19_950, 'C', 'ct1', { prompt_tokens: 100 })), stops(30_010, 'completed')].sort(
      ([one], [other]) => one - other,
    ),
    { tokens_over: 99 },
    ['root: none', 'below: tokens'],
  ],
  ['a child whose failure only its stop reports', turn(delegated(30), stops(900, 'failed')), true, ['root: error']],
  ['such a child whose start was lost', turn(stops(900, 'failed')), true, ['root: error']],
  [
    'such a child that stops when its parent is over',
    [...turn(delegated(30)), stops(30_010, 'failed')],
    true,
    ['root: none', 'below: error'],
  ],
  [
    'such a child, if errors are no reason',
    [...turn(delegated(30)), stops(30_010, 'failed')],
    { errors: false },
    ['root: none'],
  ],
  [
    'a grandchild that stops after the child, in a running turn',
    turn(...STARTED, GRANDCHILD, childEnds(80, { completed: true }), [
      90,
      'subagent_stop',
      { parent_session_id: 'C', parent_turn_id: 'ct1', child_session_id: 'G', child_status: 'error' },
    ]),
    true,
    ['root: error'],
  ],
])('decides on the family: %s', (_, steps, keep, expected) => {
  expect(reasons(steps, keep)).toEqual(expected)
})

test('counts a trace once, whatever its children report later', async () => {
  const steps = [...turn(...STARTED), childEnds(30_000, { failed: true })]
  const counted = await seriesText(plugin(steps, true), 'hermes.sampling.turns')
  expect(counted).toEqual(['reason=none early=false → 1'])
})

test('keeps a turn that falls silent', () => {
  const silent = plugin([...began(), [30 * 60_000 * 10, 'on_session_start', { session_id: 'other' }]], true)
  const root = silent.spans().find(span => span.attributes['hermes.turn.final_status'] === 'timed_out')
  expect(root?.attributes[REASON]).toBe('error')
})

test('changes only the root, and counts every turn', async () => {
  const steps = turn(...asked(30), ...FAILED_CALL, ...approval(200, 400, 'deny'), ...CHILD_USES)
  const [off, on] = [plugin(steps, false), plugin(steps, { denied: true, tools: ['terminal'], rate: 0.5 })]
  const bare = on.spans().map(span => ({ ...span, attributes: { ...span.attributes, [REASON]: undefined } }))
  const names = (spans: readonly { readonly name: string; readonly attributes: object }[]) =>
    spans.map(({ name, attributes }) => [name, Object.entries(attributes).filter(([, value]) => value !== undefined)])
  expect(names(bare)).toEqual(names(off.spans()))
  expect(await seriesText(on, 'hermes.sessions')).toEqual(await seriesText(off, 'hermes.sessions'))
})
