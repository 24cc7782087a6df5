/** What harbor's validator refuses, of what could be written wrong here: tried against harbor 0.25.0, which takes ATIF 1.0 to 1.8. */

type Json = Readonly<Record<string, unknown>>

const FIELDS = {
  trajectory: [
    ...['schema_version', 'session_id', 'trajectory_id', 'agent', 'steps', 'notes', 'final_metrics'],
    ...['continued_trajectory_ref', 'subagent_trajectories', 'extra'],
  ],
  agent: ['name', 'version', 'model_name', 'tool_definitions', 'extra'],
  step: [
    ...['step_id', 'source', 'message', 'timestamp', 'model_name', 'reasoning_effort', 'reasoning_content'],
    ...['tool_calls', 'observation', 'metrics', 'llm_call_count', 'is_copied_context', 'extra'],
  ],
  call: ['tool_call_id', 'function_name', 'arguments', 'extra'],
  observation: ['results'],
  result: ['source_call_id', 'content', 'subagent_trajectory_ref', 'extra'],
  reference: ['trajectory_id', 'session_id', 'trajectory_path', 'extra'],
  metrics: [
    ...['prompt_tokens', 'completion_tokens', 'cached_tokens', 'cost_usd', 'prompt_token_ids'],
    ...['completion_token_ids', 'logprobs', 'extra'],
  ],
  sums: [
    ...['total_prompt_tokens', 'total_completion_tokens', 'total_cached_tokens', 'total_cost_usd', 'total_steps'],
    'extra',
  ],
} as const

const OF_AGENTS = ['tool_calls', 'model_name', 'reasoning_effort', 'reasoning_content', 'metrics', 'llm_call_count']

export function atifProblems(document: object): readonly string[] {
  return [...problemsOf(document as Json, 'trajectory')]
}

function listOf(value: unknown): readonly Json[] {
  return (value ?? []) as readonly Json[]
}

function* problemsOf(trajectory: Json, at: string): Generator<string, void> {
  yield* unknown(trajectory, 'trajectory', at)
  yield* unknown(trajectory['agent'] as Json, 'agent', `${at}.agent`)
  yield* unknown((trajectory['final_metrics'] ?? {}) as Json, 'sums', `${at}.final_metrics`)
  const steps = listOf(trajectory['steps'])
  if (steps.length === 0) yield `${at}: no steps`
  const children = listOf(trajectory['subagent_trajectories'])
  const ids = children.map(child => child['trajectory_id'])
  if (new Set(ids).size < ids.length || ids.includes(undefined)) yield `${at}: children without an id of their own`
  for (const [index, step] of steps.entries()) {
    if (step['step_id'] !== index + 1) yield `${at}.steps[${index}]: its number is ${String(step['step_id'])}`
    yield* problemsOfStep(step, `${at}.steps[${index}]`, ids)
  }
  for (const [index, child] of children.entries()) yield* problemsOf(child, `${at}.children[${index}]`)
}

function* problemsOfStep(step: Json, at: string, children: readonly unknown[]): Generator<string, void> {
  yield* unknown(step, 'step', at)
  if (typeof step['message'] !== 'string') yield `${at}: its message is no text`
  if (!['system', 'user', 'agent'].includes(String(step['source'])))
    yield `${at}: ${String(step['source'])} is no source`
  const time = step['timestamp']
  if (time !== undefined && Number.isNaN(Date.parse(String(time)))) yield `${at}: ${String(time)} is no time`
  for (const field of OF_AGENTS) {
    if (step['source'] !== 'agent' && step[field] !== undefined) yield `${at}: ${field} on a step of no agent`
  }
  const calls = listOf(step['tool_calls'])
  for (const call of calls) {
    yield* unknown(call, 'call', at)
    const given = call['arguments']
    if (typeof given !== 'object' || given === null || Array.isArray(given)) yield `${at}: arguments that are no object`
  }
  yield* unknown((step['metrics'] ?? {}) as Json, 'metrics', at)
  const observation = (step['observation'] ?? {}) as Json
  yield* unknown(observation, 'observation', at)
  for (const result of listOf(observation['results'])) {
    yield* unknown(result, 'result', at)
    const source = result['source_call_id']
    if (source !== undefined && !calls.some(call => call['tool_call_id'] === source)) {
      yield `${at}: no call in this step is ${String(source)}`
    }
    for (const reference of listOf(result['subagent_trajectory_ref'])) {
      yield* unknown(reference, 'reference', at)
      if (!children.includes(reference['trajectory_id'])) yield `${at}: a child that is not there`
    }
  }
}

function* unknown(record: Json, kind: keyof typeof FIELDS, at: string): Generator<string, void> {
  const known: readonly string[] = FIELDS[kind]
  for (const [field, value] of Object.entries(record)) {
    if (!known.includes(field)) yield `${at}: ${field} is no field of ${kind}`
    if (value === null) yield `${at}: ${field} is null`
  }
}
