// Two turns in which every field of every hook has a value, each its own where that can be told apart, so that whatever
// a record can become is seen at least once. For the documentation only: no agent does all of this at once.

const START_AT = 1_795_256_100_000
const seconds = millis => (START_AT + millis) / 1000

const TURN = { session_id: 's-2', turn_id: 't-1', task_id: 'task-1' }
const FIRST = { ...TURN, api_request_id: 'r-1', api_call_count: 1 }
const MODEL = { model: 'qwen3-coder-30b', provider: 'openrouter', base_url: 'https://openrouter.ai:443/api/v1' }
const PARAMETERS = {
  max_tokens: 8192,
  temperature: 0.2,
  top_p: 0.9,
  top_k: 40,
  frequency_penalty: 0.1,
  presence_penalty: 0.3,
  stream: true,
  stop: ['END'],
  n: 2,
  seed: 7,
  reasoning_effort: 'high',
}
const CALL = { id: 'call_1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } }
const MESSAGES = [
  { role: 'system', content: 'You are careful.' },
  { role: 'user', name: 'ada', content: 'Fix the login test' },
  { role: 'assistant', content: 'I look first.', tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'README.md' },
]
const USAGE = {
  prompt_tokens: 6210,
  output_tokens: 212,
  cache_read_tokens: 5800,
  cache_write_tokens: 310,
  reasoning_tokens: 64,
  total_tokens: 6422,
}

const REQUEST = {
  ...MODEL,
  ...PARAMETERS,
  api_mode: 'chat_completions',
  message_count: 4,
  tool_count: 9,
  approx_input_tokens: 6200,
  request_char_count: 24800,
  request: {
    method: 'POST',
    body: {
      model: 'qwen3-coder-30b-a3b',
      messages: MESSAGES.slice(0, 2),
      tools: [{ type: 'function', function: { name: 'terminal' } }],
      seed: 7,
      previous_response_id: 'resp_0',
    },
  },
  request_messages: MESSAGES,
  messages: MESSAGES.slice(0, 3),
  system_prompt: 'You are careful, and quick.',
}

const RESPONSE = {
  ...MODEL,
  api_duration: 2.1,
  finish_reason: 'tool_calls',
  response_model: 'qwen3-coder-30b-2610',
  response_id: 'resp_1',
  usage: USAGE,
  response: {
    assistant_message: { role: 'assistant', content: 'I look first.', tool_calls: [CALL] },
    upstream_provider: 'together',
  },
  context_length: 262_144,
  assistant_content_chars: 13,
  assistant_tool_call_count: 1,
  cost: { total: 0.0183 },
  service_tier: 'default',
}

const LISTED = { api_request_id: 'aux-2', model: 'gpt-4o-2024-08-06', provider: 'openai' }

/** An attribute that the agent named itself. */
export const isAgentsOwn = name => name.startsWith('team.')

/** Each its own, so that it can be told which hook said it. */
const belongingTo = what => ({
  tags: [what],
  metadata: { [`${what}_ticket`]: 'T-12' },
  user_id: `user-of-the-${what}`,
  attributes: { [`team.${what}`]: 'search' },
})

const SESSION = {
  model: 'qwen3-coder-30b',
  platform: 'telegram',
  provider: 'openrouter',
  session_type: 'review',
  origin: 'gateway',
  run_type: 'batch',
  source: 'cron of the host',
  trigger: 'cron at nine',
  job_id: 'job-9',
  cron_job_id: 'nightly',
  agent_name: 'builder',
  profile: 'work',
  sender_id: '4711',
  correlation_id: 'req-77',
  cwd: '/srv/shop',
  repository: 'https://github.com/acme/shop.git',
  branch: 'fix/login',
  parent_session_id: 's-0',
  ...belongingTo('session'),
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
}

const TOOL = { ...FIRST, tool_name: 'terminal', tool_call_id: 'call_1', args: { command: 'npm test' } }
const SKILL = { ...FIRST, tool_name: 'read_file', tool_call_id: 'call_2', args: { path: 'skills/release/SKILL.md' } }
const MISSING = { ...TURN, tool_name: 'fetch', tool_call_id: 'c-missing', args: { url: 'https://example.com/none' } }
const MCP = { ...FIRST, tool_name: 'mcp_files_read', tool_call_id: 'call_3', args: { uri: 'file:///tmp/a' } }
const APPROVAL = {
  ...FIRST,
  tool_call_id: 'call_1',
  command: 'npm test',
  description: 'runs a command',
  pattern_key: 'npm',
  pattern_keys: ['npm', 'shell'],
  surface: 'cli',
  session_key: 'agent:main',
  request_id: 'a-1',
}
const QUESTION = {
  ...FIRST,
  kind: 'clarify',
  request_id: 'q-1',
  prompt: 'Which branch?',
  platform: 'cli',
  session_key: 'agent:main',
}
const GUARD = {
  ...FIRST,
  tool_call_id: 'call_5',
  hook_run_id: 'h-1',
  hook_name: 'no-rm',
  hook_phase: 'before_tool',
  hook_priority: 10,
  hook_judges: true,
}
const BLOCKING = { verdict: 'block', action: 'blocked', reason: 'Do not delete.', detail: 'it deletes build' }
const JUDGE = { ...GUARD, hook_run_id: 'h-2', hook_name: 'judge', hook_priority: 20 }
const FAILED = { verdict: 'failed', action: 'ran', failure: 'threw', failure_message: 'the judge did not answer' }
const RULES = {
  ...FIRST,
  hook_run_id: 'h-3',
  hook_name: 'house-rules',
  hook_phase: 'before_model',
  hook_priority: 200,
  hook_judges: false,
}
const REWRITING = { verdict: 'rewrite', action: 'rewritten', rewritten_fields: ['messages'] }
const REWRITING_TOOL = {
  ...GUARD,
  tool_call_id: 'call_6',
  hook_run_id: 'h-5',
  hook_name: 'house-rules',
  hook_judges: false,
  verdict: 'rewrite',
  action: 'rewritten',
  rewritten_fields: ['command'],
  rewritten_args: { command: 'ls -la', path: 'src' },
}
const REWRITTEN = { ...FIRST, tool_name: 'terminal', tool_call_id: 'call_6', args: { command: 'ls' } }
const BLOCKED = { ...FIRST, tool_name: 'terminal', tool_call_id: 'call_5', args: { command: 'rm -rf build' } }
const STREAM = { ...FIRST, iteration: 1, model: 'qwen3-coder-30b', provider: 'openrouter', surface: 'cli' }
const DELEGATING = { ...FIRST, tool_name: 'delegate_task', tool_call_id: 'call_4', args: { goal: 'Review it' } }
const CHILD = {
  parent_session_id: 's-2',
  parent_turn_id: 't-1',
  parent_subagent_id: 'sa-0',
  child_session_id: 's-3',
  child_subagent_id: 'sa-1',
  tool_call_id: 'call_4',
  child_role: 'reviewer',
}
const SIDE = { ...TURN, api_request_id: 'aux-1', api_call_count: 3 }

const STEPS = [
  [0, 'on_session_start', { session_id: 's-1', turn_id: 't-0', platform: 'telegram', sender_id: '4710' }],
  [10, 'on_session_end', { session_id: 's-1', turn_id: 't-0', completed: true }],
  [20, 'on_session_reset', { session_id: 's-2', old_session_id: 's-1', new_session_id: 's-2', reason: 'new_session' }],

  [100, 'on_session_start', { ...TURN, ...SESSION }],
  [
    110,
    'pre_llm_call',
    {
      ...TURN,
      user_message: 'Fix the login test',
      conversation_history: MESSAGES.slice(0, 2),
      is_first_turn: false,
      model: 'qwen3-coder-30b',
      provider: 'openrouter',
      platform: 'telegram',
      sender_id: '4712',
      ...belongingTo('prompt'),
      parent_session_id: 's-0',
      // The root is there by then, and knows another.
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  ],
  [120, 'pre_api_request', { ...FIRST, ...REQUEST, retry_count: 0, started_at: seconds(120) }],
  [
    420,
    'api_request_error',
    {
      ...FIRST,
      ...MODEL,
      api_duration: 0.31,
      started_at: seconds(120),
      ended_at: seconds(415),
      status_code: 429,
      retry_count: 0,
      max_retries: 3,
      retryable: true,
      reason: 'rate_limit',
      error: { type: 'RateLimitError', message: 'Too many requests' },
    },
  ],
  [1500, 'pre_api_request', { ...FIRST, ...REQUEST, retry_count: 1, started_at: seconds(120) }],
  [1510, 'on_stream_start', STREAM],
  [2980, 'on_stream_end', { ...STREAM, final_text: 'I look first.', finished: true, error: null }],
  [
    3000,
    'post_api_request',
    {
      ...FIRST,
      ...RESPONSE,
      retry_count: 1,
      started_at: seconds(120),
      ended_at: seconds(2990),
      first_chunk_at: seconds(1880),
    },
  ],

  [3010, 'pre_tool_call', TOOL],
  [3020, 'pre_approval_request', APPROVAL],
  [7000, 'post_approval_response', { ...APPROVAL, choice: 'once', decided_by: 'user' }],
  [7100, 'on_human_input_request', QUESTION],
  [7800, 'on_human_input_resolved', { ...QUESTION, outcome: 'submitted' }],
  [7900, 'transform_tool_result', { ...FIRST, tool_call_id: 'call_1', tool_name: 'terminal', result: 'FAIL' }],
  [
    8000,
    'post_tool_call',
    {
      ...TOOL,
      result: '{"output":"FAIL login.test.ts","error":"exit code 1"}',
      duration_ms: 990,
      status: 'error',
      error_type: 'ExitCode',
      error_message: 'the command exited with 1',
    },
  ],
  [8010, 'pre_tool_call', SKILL],
  [
    8020,
    'on_skill_lifecycle',
    {
      ...TURN,
      action: 'used',
      skill_name: 'release',
      provenance: 'agent',
      use_count: 3,
      reused: true,
      reuse_after_patch: false,
    },
  ],
  [8025, 'on_iteration_start', { ...TURN, iteration: 2, confidence: 0.4 }],
  [8027, 'on_turn_event', { ...TURN, name: 'command:stop' }],
  [8030, 'post_tool_call', { ...SKILL, result: { content: '# Release' }, status: 'ok', duration_ms: 20 }],
  [8101, 'pre_tool_call', BLOCKED],
  [8102, 'pre_control_hook', GUARD],
  [8110, 'post_control_hook', { ...GUARD, ...BLOCKING, duration_ms: 8.4 }],
  [8111, 'post_tool_call', { ...BLOCKED, result: 'Do not delete.', status: 'error' }],
  [8120, 'pre_control_hook', JUDGE],
  [8125, 'post_control_hook', { ...JUDGE, ...FAILED, duration_ms: 4.2 }],
  [8130, 'pre_control_hook', RULES],
  [8134, 'post_control_hook', { ...RULES, ...REWRITING, duration_ms: 3.5 }],
  [8135, 'pre_tool_call', REWRITTEN],
  [8138, 'post_control_hook', { ...REWRITING_TOOL, duration_ms: 2.5 }],
  [8141, 'post_tool_call', { ...REWRITTEN, result: 'main.ts', status: 'ok' }],
  // Told when it is over, which is enough.
  [8148, 'post_control_hook', { ...RULES, hook_run_id: 'h-4', verdict: 'inject', action: 'injected', duration_ms: 2 }],
  [8160, 'post_control_hook', { ...TURN, hook_name: 'logging', hook_phase: 'before_tool', verdict: 'pass', count: 3 }],
  // Its start was never seen.
  [8200, 'post_tool_call', { ...MCP, result: 'a', status: 'timeout', duration_ms: 100 }],
  [8220, 'pre_tool_call', MISSING],
  [8230, 'post_tool_call', { ...MISSING, error: { type: 'NotFound', message: 'there is no such page' } }],

  [8300, 'pre_tool_call', DELEGATING],
  [8310, 'subagent_start', { ...CHILD, child_goal: 'Review it', ...belongingTo('delegation') }],
  [8320, 'on_session_start', { session_id: 's-3', turn_id: 't-c', model: 'claude-haiku-4-5', platform: 'subagent' }],
  [8330, 'pre_llm_call', { session_id: 's-3', turn_id: 't-c', user_message: 'Review it', model: 'claude-haiku-4-5' }],
  [8340, 'pre_api_request', { session_id: 's-3', turn_id: 't-c', api_request_id: 'r-c', model: 'claude-haiku-4-5' }],
  [8900, 'post_api_request', { session_id: 's-3', turn_id: 't-c', api_request_id: 'r-c', usage: USAGE }],
  [8910, 'post_llm_call', { session_id: 's-3', turn_id: 't-c', assistant_response: 'It is good.' }],
  [8920, 'on_session_end', { session_id: 's-3', turn_id: 't-c', completed: true }],
  [
    8930,
    'subagent_stop',
    { ...CHILD, child_summary: 'It is good.', child_status: 'ok', status: 'done', duration_ms: 600 },
  ],
  [8940, 'post_tool_call', { ...DELEGATING, result: { summary: 'It is good.' }, status: 'ok' }],

  [
    9000,
    'pre_auxiliary_call',
    { ...SIDE, ...REQUEST, aux_task: 'title', streaming: false, retry_count: 0, started_at: seconds(9000) },
  ],
  [
    9400,
    'post_auxiliary_call',
    {
      ...SIDE,
      ...RESPONSE,
      aux_task: 'title',
      streaming: false,
      retry_count: 0,
      started_at: seconds(9000),
      ended_at: seconds(9390),
      first_chunk_at: seconds(9100),
      error: { type: 'Overloaded', message: 'the model is overloaded' },
      error_type: 'OverloadedError',
    },
  ],
  // A model of the list of prices, by the name of one version, whose cost nobody says.
  [9410, 'pre_auxiliary_call', { ...SIDE, ...LISTED, aux_task: 'summary' }],
  [9440, 'post_auxiliary_call', { ...SIDE, ...LISTED, aux_task: 'summary', usage: USAGE }],
  [9500, 'transform_llm_output', { ...TURN, response_text: 'Done, more or less.' }],
  [
    9600,
    'post_llm_call',
    { ...TURN, assistant_response: 'Done.', model: 'qwen3-coder-30b-2610', platform: 'telegram' },
  ],
  [
    9700,
    'on_session_end',
    {
      ...TURN,
      completed: false,
      interrupted: false,
      failed: true,
      turn_exit_reason: 'max_iterations',
      reason: 'limit',
      model: 'qwen3-coder-plus',
      platform: 'telegram',
    },
  ],

  [20_000, 'pre_llm_call', { session_id: 's-2', turn_id: 't-2', user_message: 'And now?' }],
  [
    20_010,
    'pre_tool_call',
    { session_id: 's-2', turn_id: 't-2', tool_name: 'grep', args: { pattern: 'x' } },
    'inferred',
  ],
  [20_500, 'on_session_finalize', { session_id: 's-2', platform: 'telegram', reason: 'shutdown' }],

  // A session that nobody announced.
  [
    30_000,
    'pre_llm_call',
    {
      session_id: 's-9',
      user_message: 'Hello',
      model: 'm',
      platform: 'telegram',
      sender_id: '4713',
      cwd: '/srv/blog',
      repository: 'acme/blog',
      branch: 'main',
    },
  ],
  [30_100, 'on_session_end', { session_id: 's-9', interrupted: true }],
]

export const COMPLETE_RECORDS = STEPS.map(([millis, hook, payload, correlation]) => ({
  hook,
  at: START_AT + millis,
  payload,
  ...(correlation === undefined ? {} : { correlation }),
}))
