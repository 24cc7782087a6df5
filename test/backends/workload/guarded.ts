import type { Scenario, WorkloadRecord } from './workload-record.ts'

export const GUARDED_SCENARIO = 'generated/guarded'
const START = 1_795_256_100_000

/** What a control hook says of the tool. */
function run(tool: object, name: string, said: object): readonly (readonly [string, object])[] {
  const about = {
    ...tool,
    hook_run_id: name,
    hook_name: name,
    hook_phase: 'before_tool',
    hook_priority: 10,
    hook_judges: true,
  }
  return [
    ['pre_control_hook', about],
    ['post_control_hook', { ...about, ...said }],
  ]
}

/** A turn whose tool a control hook keeps from running, behind one that fails: no capture has any. */
export function guardedScenario(ordinal: number): Scenario {
  const id = `guarded-${ordinal}`
  const turn = { session_id: id, turn_id: `${id}.1` }
  const request = { ...turn, api_request_id: `${id}.r1`, model: 'fake-1', provider: 'fake' }
  const tool = { ...request, tool_call_id: `${id}.c1`, tool_name: 'bash', args: { command: 'rm -r build' } }
  const told: readonly (readonly [string, object])[] = [
    ['on_session_start', { ...turn, model: 'fake-1' }],
    ['pre_llm_call', { ...turn, model: 'fake-1', user_message: 'Clean up' }],
    ['pre_api_request', request],
    ['post_api_request', { ...request, usage: { input_tokens: 100, output_tokens: 20 }, finish_reason: 'tool_calls' }],
    ['pre_tool_call', tool],
    ...run(tool, 'broken', { verdict: 'failed', action: 'ran', failure: 'threw', duration_ms: 7 }),
    ...run(tool, 'no-rm', {
      verdict: 'block',
      action: 'blocked',
      reason: 'Files are not deleted here.',
      duration_ms: 7,
    }),
    ['post_tool_call', { ...tool, status: 'blocked', result: 'Files are not deleted here.' }],
    ['post_llm_call', { ...turn, assistant_response: 'I may not.' }],
    ['on_session_end', { ...turn, completed: true }],
  ]
  const records = told.map(([hook, payload], index): WorkloadRecord => {
    return { hook, payload: { ...payload }, meta: { at: START + index * 7, host: 'guarded' } }
  })
  return { name: GUARDED_SCENARIO, records }
}
