// Descriptions of the span kinds for docs/spans.md, in the order of a turn.

/** @type {readonly {kind: string, title: string, about: string, key: string, parent: string, status: string}[]} */
export const SPAN_KINDS = [
  {
    kind: 'session',
    title: 'The root: one turn of the agent, with any outcome.',
    about:
      'It starts with `on_session_start`, or with the first record of a turn that starts a span. Its name is `cron` if that is its kind. Each turn of a session is a trace, linked to the previous one.',
    key: 'the turn; a turn has one',
    parent: 'none; for a child agent the `subagent` span that delegated to it',
    status:
      'ERROR if the turn failed, or if its host ended it neither as completed nor as interrupted; the description is the exit reason. OK if it expired or its session was closed',
  },
  {
    kind: 'llm',
    title: 'The loop of the turn, from the user message to the final answer.',
    about:
      'It contains the requests and tools. It is not a model request, so it has no token counts: a backend would count them twice. If only its end has the model, the name is set then.',
    key: 'the turn; a turn has one at a time',
    parent: 'the root',
    status: 'OK; if still open at the end of the turn, marked and unset',
  },
  {
    kind: 'api',
    title: 'One attempt at a model request.',
    about:
      'A retry is a separate span beside the failed one. If only its end has the model, the name is set then. With `content_capture: full` it has the messages of the request and the response.',
    key: '`api_request_id`, else `api_call_count`, else the task; plus the attempt',
    parent: 'the open `llm`, else the root',
    status: 'ERROR on `api_request_error`, described by its message, with an event `exception`',
  },
  {
    kind: 'tool',
    title: 'One tool call.',
    about: 'If its start was not seen, it is computed from `duration_ms`.',
    key: '`tool_call_id`; without one, first in, first out for each tool name and task',
    parent: 'the request of `api_request_id`, open or ended; else the open `api`, else the open `llm`, else the root',
    status: 'ERROR for the outcome `error` only; a timeout, a block and a cancellation are not errors',
  },
  {
    kind: 'subagent',
    title: 'A delegation, from the view of the parent.',
    about: 'The turn of the child is below it, in the same trace. It can outlive the turn that it began in.',
    key: '`child_session_id`, else `child_subagent_id`',
    parent:
      'the delegating tool (by `tool_call_id`, or the only open tool of a delegating kind); else the open `api`, `llm`, the root',
    status: 'ERROR for `error`, `failed`, `cancelled`, `timeout` and the like',
  },
  {
    kind: 'approval',
    title: 'The wait for an answer of the user or a guardian model.',
    about: 'An answer without a question counts in the metrics and has no span.',
    key: '`request_id`, else `tool_call_id`, else `pattern_key`',
    parent: 'the waiting tool, by `tool_call_id`; else the open `api`, `llm`, the root',
    status: 'OK: a denial is a decision',
  },
  {
    kind: 'hook',
    title: 'One run of a guard: its decision, and the reason.',
    about:
      'Guards that passed count in the metrics and may have no span. `openinference.span.kind` is `GUARDRAIL` if the guard decides about the step. A tool that it blocked has its name as `hermes.tool.blocked_by`, and the outcome `blocked`.',
    key: '`hook_run_id`',
    parent:
      'for a tool phase the tool, by `tool_call_id`, open or ended; for a model phase the request, by `api_request_id`; else the open `api`, `llm`, the root',
    status: 'ERROR if it failed, with the failure as its type; a block is a decision',
  },
  {
    kind: 'skill',
    title: 'A loaded skill, until the end of the turn.',
    about:
      'It has no hook: a successful `skill_view`, or any tool that reads a path with a `skills` segment, starts it.',
    key: 'its name; once a turn',
    parent: 'the root',
    status: 'OK',
  },
  {
    kind: 'auxiliary',
    title: 'A side call of the host: a title, a compression, a guardian.',
    about: 'A model request outside the loop. Between turns, one without a turn is a separate trace.',
    key: 'as `api`',
    parent: 'the root; for a guardian the open `approval`',
    status: 'ERROR if `error` or `error_type` is set, with an event `exception`',
  },
]
