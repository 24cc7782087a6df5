// One representative turn: 2 model requests, 5 tools of which two run at once, one approval.
const TEXT = 'The login test compares seconds with milliseconds since the change of yesterday. '.repeat(12)

const usage = {
  prompt_tokens: 6210,
  output_tokens: 212,
  cache_read_tokens: 5800,
  reasoning_tokens: 64,
  total_tokens: 6422,
}

/** @returns {{hook: string, payload: object, meta: {at: number}}[]} */
export function turnRecords(session, turn, at) {
  const ids = { session_id: session, turn_id: turn, task_id: session }
  const records = []
  const add = (millis, hook, payload) =>
    records.push({ hook, payload: { ...ids, ...payload }, meta: { at: at + millis } })
  const request = n => ({
    api_request_id: `${turn}:r${n}`,
    api_call_count: n,
    model: 'claude-sonnet-4-6',
    provider: 'anthropic',
  })
  const api = (millis, n, finish) => {
    add(millis, 'pre_api_request', {
      ...request(n),
      base_url: 'https://api.anthropic.com',
      retry_count: 0,
      message_count: 8,
      tool_count: 9,
      max_tokens: 8192,
      temperature: 0.2,
      stream: true,
    })
    add(millis + 2000, 'post_api_request', {
      ...request(n),
      api_duration: 2,
      ended_at: (at + millis + 2000) / 1000,
      first_chunk_at: (at + millis + 400) / 1000,
      finish_reason: finish,
      response_model: 'claude-sonnet-4-6',
      usage,
    })
  }
  const tool = (millis, n, name, args, result) => {
    const call = { tool_name: name, tool_call_id: `${turn}:c${n}`, api_request_id: `${turn}:r1`, args }
    add(millis, 'pre_tool_call', call)
    return () => add(millis + 300, 'post_tool_call', { ...call, result, duration_ms: 300, status: 'ok' })
  }
  add(0, 'on_session_start', { model: 'claude-sonnet-4-6', platform: 'cli' })
  add(5, 'pre_llm_call', { user_message: TEXT, model: 'claude-sonnet-4-6', platform: 'cli' })
  api(10, 1, 'tool_calls')
  const ends = [
    tool(2020, 1, 'read_file', { path: 'src/session.ts' }, JSON.stringify({ content: TEXT, total_lines: 84 })),
    tool(2025, 2, 'grep', { pattern: 'expiresAt', path: 'src' }, JSON.stringify({ matches: [TEXT.slice(0, 200)] })),
  ]
  for (const end of ends) end()
  for (const [n, name] of [
    [3, 'terminal'],
    [4, 'edit_file'],
  ])
    tool(2400 * n, n, name, { command: 'npm test -- login' }, JSON.stringify({ output: TEXT, exit_code: 0 }))()
  const gated = tool(12000, 5, 'terminal', { command: 'rm -rf ./build' }, JSON.stringify({ output: '', exit_code: 0 }))
  add(12010, 'pre_approval_request', {
    tool_call_id: `${turn}:c5`,
    pattern_key: 'rm_rf',
    command: 'rm -rf ./build',
    surface: 'cli',
  })
  add(12200, 'post_approval_response', { tool_call_id: `${turn}:c5`, pattern_key: 'rm_rf', choice: 'once' })
  gated()
  api(12500, 2, 'stop')
  add(14600, 'post_llm_call', { assistant_response: TEXT, model: 'claude-sonnet-4-6' })
  add(14610, 'on_session_end', { completed: true, interrupted: false, failed: false, model: 'claude-sonnet-4-6' })
  return records.sort((a, b) => a.meta.at - b.meta.at)
}
