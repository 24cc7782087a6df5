import { type FedRecord, START_AT } from '../support/feed.ts'

/** Spans that come of one generated turn. */
const SPANS_PER_TURN = 5
/** Records of one generated turn. */
const RECORDS_PER_TURN = 10

/**
 * Turns of several sessions that run side by side, each with a model request and two parallel tools, in the order of
 * time. The same numbers give the same records.
 */
export function generatedRecords(count: number): { records: FedRecord[]; spans: number } {
  const turns = Math.ceil(count / RECORDS_PER_TURN)
  const records = Array.from({ length: turns }, (_, index) => turnRecords(index)).flat()
  records.sort((a, b) => (a.at ?? 0) - (b.at ?? 0))
  return { records, spans: turns * SPANS_PER_TURN }
}

export function asLines(records: readonly object[]): string {
  return records.map(record => `${JSON.stringify(record)}\n`).join('')
}

function turnRecords(index: number): FedRecord[] {
  const ids = { session_id: `s${index % 7}`, turn_id: `t${index}` }
  const model = { model: `m${index % 3}`, provider: 'openai' }
  const request = { ...ids, api_request_id: `r${index}` }
  // Turns of one session follow each other; those of different sessions overlap.
  const startAt = START_AT + index * 100
  const at = (millis: number, hook: string, payload: object): FedRecord => ({ hook, at: startAt + millis, payload })
  return [
    at(0, 'on_session_start', { ...ids, ...model }),
    at(1, 'pre_llm_call', { ...ids, ...model, user_message: `question ${index}` }),
    at(2, 'pre_api_request', { ...request, ...model }),
    at(200, 'post_api_request', { ...request, ...model, usage: { input_tokens: 10 + index, output_tokens: 5 } }),
    at(210, 'pre_tool_call', { ...request, tool_name: 'read_file', tool_call_id: `a${index}`, args: { path: 'x.ts' } }),
    at(211, 'pre_tool_call', { ...request, tool_name: 'terminal', tool_call_id: `b${index}`, args: { command: 'ls' } }),
    at(300, 'post_tool_call', { ...request, tool_name: 'terminal', tool_call_id: `b${index}`, result: 'one\ntwo' }),
    at(320, 'post_tool_call', { ...request, tool_name: 'read_file', tool_call_id: `a${index}`, result: 'text' }),
    at(400, 'post_llm_call', { ...ids, ...model, assistant_response: 'answer' }),
    at(410, 'on_session_end', { ...ids, completed: true }),
  ]
}
