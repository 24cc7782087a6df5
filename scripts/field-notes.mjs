// What the contract's comments do not say of a field, for docs/hooks.md. Hook → field → note.

const TURN_KIND = 'What set the turn off. The first of `session_type`, `origin` and `run_type` counts'
const SAYS_CRON = 'With `cron` in it, and without the three above, the kind of the turn is `cron`'
const IS_CRON = 'One that is set makes the kind `cron`, too'
const IF_ASKED = 'Only with `capture_sender_id`'
const EITHER = 'For metrics, and where the start was never seen'
const NOT_READ = 'Not read'

const REQUEST = {
  provider: 'The model provider; spellings of the well-known ones are mapped to the names of the conventions',
  base_url: 'Host and port only; credentials and the path are left out',
  model: 'The model that was asked for; what `request.body.model` says wins',
  api_mode: 'Which protocol the provider is spoken to in',
  max_tokens: 'It and the other parameters are taken from `request.body` where they are not fields',
  request_messages:
    'What was sent, the first of this, `messages` and `request.body.messages`; `content_capture: full` only',
}

const OUTCOME = {
  model: EITHER,
  provider: EITHER,
  base_url: 'Where the start was never seen',
  ended_at: 'Epoch seconds; the span’s end, where it is believable',
}

/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const FIELD_NOTES = {
  on_session_start: {
    session_type: TURN_KIND,
    origin: TURN_KIND,
    run_type: TURN_KIND,
    platform: `Where people write from. ${SAYS_CRON}`,
    source: SAYS_CRON,
    trigger: SAYS_CRON,
    job_id: IS_CRON,
    cron_job_id: IS_CRON,
    provider: NOT_READ,
    sender_id: IF_ASKED,
    correlation_id: 'On every span of the session from then on',
    parent_session_id: 'Of a child agent',
  },
  pre_llm_call: {
    conversation_history: 'Only with `capture_conversation_history`',
    is_first_turn: NOT_READ,
    platform: 'Before the sender’s id',
    sender_id: IF_ASKED,
    parent_session_id: 'Where this hook opens the turn: of a child agent',
    traceparent: 'W3C trace context of who asked for the turn, where the session was told of before: as above',
  },
  pre_api_request: REQUEST,
  post_api_request: {
    ...OUTCOME,
    retry_count: 'Which attempt it was; an end of another one does not end this one',
    started_at: NOT_READ,
    first_chunk_at: 'Epoch seconds',
    usage: 'See [Usage](#usage)',
    response:
      '`{assistant_message: {content, tool_calls}, upstream_provider}`; the message with `content_capture: full` only',
  },
  api_request_error: {
    ...OUTCOME,
    api_duration: 'Seconds',
    started_at: NOT_READ,
    retry_count: 'Which attempt it was, from 0',
    status_code: 'Of the HTTP answer; none means that there was no answer',
  },
  pre_tool_call: {
    args: 'An object, or anything else. `path`, `file_path`, `target`, `url`, `uri`, `command`, `cmd` are looked for',
  },
  post_tool_call: { status: '`ok`, `error`, `blocked`, `cancelled`, `timeout`, …; without it the result is asked' },
  post_llm_call: { platform: NOT_READ },
  on_session_end: {
    failed: 'Stronger than `interrupted`, and that than `completed`; none of them is `incomplete`',
    reason: 'Describes a failure where `turn_exit_reason` does not',
    model: 'Where it changed on the way',
    platform: NOT_READ,
  },
  on_session_finalize: {
    session_id: 'Without it: the only open turn’s',
    platform: NOT_READ,
    reason: NOT_READ,
  },
  on_session_reset: {
    session_id: 'The new one, where `new_session_id` is not given',
    old_session_id: 'Without it: the session that was torn down last',
    reason: NOT_READ,
  },
  subagent_stop: { child_role: 'For metrics', status: 'Where there is no `child_status`' },
  pre_approval_request: {
    session_key: NOT_READ,
    request_id: 'Pairs the answer with the question, where several are open',
  },
  post_approval_response: {
    choice: '`once`, `session`, `always`, `smart_approve` grant; `deny`, `timeout`, … do not',
    decided_by: '`user`, a guardian’s name, …',
  },
  pre_auxiliary_call: { streaming: NOT_READ },
  post_auxiliary_call: { streaming: NOT_READ, error: 'As in [api_request_error](#api_request_error)' },
  on_human_input_request: {
    kind: '`clarify`, `secret`, …; what is an `approval` has hooks of its own, and nothing is drawn of it here',
    request_id: 'Pairs the answer with the question',
    session_key: NOT_READ,
  },
  on_human_input_resolved: { outcome: '`submitted`, `timeout`, …' },
  on_stream_start: {
    iteration: 'Which request of the turn it is: its `api_call_count`',
    model: NOT_READ,
    provider: NOT_READ,
    surface: NOT_READ,
  },
  on_stream_end: {
    final_text: NOT_READ,
    finished: NOT_READ,
    error: 'Why the stream broke off; what the request’s own end says counts more',
  },
  on_skill_lifecycle: { reused: NOT_READ, reuse_after_patch: NOT_READ },
  transform_tool_result: {
    tool_name: NOT_READ,
    result: 'Compared with what the tool’s end says: an event only where it was changed',
  },
  transform_llm_output: { response_text: 'Compared with the answer: an event only where it was changed' },
}
