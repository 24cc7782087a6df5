// What of a span kind is words and not data, for docs/spans.md. In the order in which a turn meets them.

/** @type {readonly {kind: string, title: string, about: string, key: string, parent: string, status: string}[]} */
export const SPAN_KINDS = [
  {
    kind: 'session',
    title: 'The root: one turn of the agent, in every way out of it.',
    about:
      'Opened by `on_session_start`, or by the first record of a turn that starts something. Its name is `cron` where that is its kind. The turns of one session are traces of their own, each linked to the one before.',
    key: 'the turn; a turn has one',
    parent: 'none; of a child agent the `subagent` span that delegated to it',
    status:
      'ERROR when the turn failed, or its host ended it and said neither that it completed nor that it was interrupted; its description is the exit reason. OK when it fell silent or its session was torn down',
  },
  {
    kind: 'llm',
    title: 'The loop of the turn: from the message of the user to the final answer.',
    about:
      'It holds the requests and tools. It is no model request itself, so it carries no token counts: a backend would count them twice. If only its end has the model, it is named by it then.',
    key: 'the turn; a turn has one at a time',
    parent: 'the root',
    status: 'OK; open at the end of the turn: marked and unset',
  },
  {
    kind: 'api',
    title: 'One attempt at a model request.',
    about:
      'A retry is a span of its own, beside the one that failed. If only its end has the model, it is named by it then. With `content_capture: full` it holds the messages of the request and the response.',
    key: '`api_request_id`, else `api_call_count`, else the task; and the attempt',
    parent: 'the open `llm`, else the root',
    status: 'ERROR on `api_request_error`, described by its message, with an event `exception`',
  },
  {
    kind: 'tool',
    title: 'One tool call.',
    about: 'One whose start was never seen is made up from `duration_ms`.',
    key: '`tool_call_id`; without one, first in first out for each tool name and task',
    parent:
      'the request that `api_request_id` names, open or ended; else the open `api`, else the open `llm`, else the root',
    status: 'ERROR for the outcome `error` only: a timeout, a block and a cancellation are not errors',
  },
  {
    kind: 'subagent',
    title: 'A delegation, as the parent sees it.',
    about: 'The turn of the child hangs below it, in the same trace. It may outlive the turn that it began in.',
    key: '`child_session_id`, else `child_subagent_id`',
    parent:
      'the tool that delegates (by `tool_call_id`, or the only open one of a delegating kind); else the open `api`, `llm`, the root',
    status: 'ERROR for `error`, `failed`, `cancelled`, `timeout` and the like',
  },
  {
    kind: 'approval',
    title: 'A person, or a guardian model, is asked: the span is the waiting.',
    about: 'An answer without a question counts in the metrics and draws nothing.',
    key: '`request_id`, else `tool_call_id`, else `pattern_key`',
    parent: 'the tool that waits, by `tool_call_id`; else the open `api`, `llm`, the root',
    status: 'OK: a denial is a decision',
  },
  {
    kind: 'hook',
    title: "A control hook of the person's has looked at something: who decided what, and why.",
    about:
      'Those that only let pass are counted in the metrics and need not be told one by one. `openinference.span.kind` is `GUARDRAIL` where the control hook judges. A tool that it kept from running has its name as `hermes.tool.blocked_by`, and the outcome `blocked`.',
    key: '`hook_run_id`',
    parent:
      'before and after a tool that tool, by `tool_call_id`, open or ended; before and after a request that request, by `api_request_id`; else the open `api`, `llm`, the root',
    status: 'ERROR where it failed, with the failure as its type; a block is a decision',
  },
  {
    kind: 'skill',
    title: 'A skill that is loaded, from then to the end of the turn.',
    about:
      'It has no hook: a successful `skill_view`, or any tool that reads a path with a `skills` segment, opens it.',
    key: 'its name; once a turn',
    parent: 'the root',
    status: 'OK',
  },
  {
    kind: 'auxiliary',
    title: 'A side call of the host: a title, a compression, a guardian.',
    about:
      'A model request that is not part of the loop. One that names no turn, between turns, is a trace of its own.',
    key: 'as `api`',
    parent: 'the root; of a guardian the open `approval`',
    status: 'ERROR when `error` or `error_type` says so, with an event `exception`',
  },
]
