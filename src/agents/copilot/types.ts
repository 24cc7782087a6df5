/**
 * Input from GitHub Copilot CLI, read from 1.0.102 (real runs). Telemetry spans and hooks without a session file follow its
 * documentation (docs.github.com, "GitHub Copilot hooks reference" and "OpenTelemetry monitoring", read in November 2026).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's input. The spelling in the configuration decides its shape:
 *   `PreToolUse` sends its own name and `session_id`; `preToolUse` sends neither and is ignored. `SubagentStart` and
 *   `PermissionRequest` send `sessionId` and no name in either spelling. Hooks of a child agent have `agent_id`, and that id as
 *   their `session_id`.
 * - `file:…`: a line of `session-state/<session>/events.jsonl`, by the line's type. One file holds a session and its child
 *   agents.
 * - `file:read`: the file has been read for the preceding hook, which is processed then.
 * - `span:…`: telemetry. Ignored for a session whose file has been read: it has the same requests.
 */

import type { FindingOwner } from '../base/findings.ts'

export interface FileLine extends FindingOwner {
  /** Unique. Lines are read again when the receiver restarts. */
  readonly line_id: string | undefined
}

/** The types of lines that are read, and the fields of each. Other fields may be large and are not needed. */
export const FILE_LINES: Readonly<Record<string, readonly string[]>> = {
  'session.start': ['selectedModel', 'context'],
  'session.resume': ['selectedModel', 'context'],
  'user.message': ['content', 'interactionId', 'delivery'],
  'system.notification': ['content'],
  'assistant.turn_start': [],
  'assistant.turn_end': [],
  'session.usage_record': ['usage'],
  'assistant.message': ['apiCallId', 'content', 'toolRequests'],
  'tool.execution_start': ['toolCallId', 'toolName', 'arguments'],
  'tool.execution_complete': ['toolCallId', 'success', 'error', 'shellExecution', 'result'],
  'permission.requested': ['requestId', 'permissionRequest'],
  'permission.completed': ['requestId', 'toolCallId', 'result', 'decisionSource'],
  'subagent.started': ['toolCallId', 'agentName'],
  'subagent.completed': ['toolCallId'],
  'subagent.failed': ['toolCallId', 'error'],
  'session.compaction_start': ['compactionAttemptId', 'model'],
  'session.compaction_complete': ['compactionAttemptId', 'success', 'compactionTokensUsed', 'error'],
  'session.error': ['errorType', 'message', 'statusCode'],
  abort: ['reason'],
  'session.shutdown': ['shutdownType'],
}

export const FILE_READ = 'file:read'

/** Hooks without facts of their own. They only trigger reading the session file. */
export const QUIET_HOOKS: readonly string[] = ['SubagentStart', 'SubagentStop', 'PreCompact', 'Notification']

export const WAITING_HOOKS: ReadonlySet<string> = new Set(['UserPromptSubmit', 'Stop', 'SessionEnd'])

export const SPAN_REQUEST = 'span:request'
export const SPAN_READ = 'span:read'

export const OPERATION = 'gen_ai.operation.name'
/** Attributes read from a request's span. Older versions spell those of the cache differently. */
export const ATTRIBUTES = [
  'gen_ai.conversation.id',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'gen_ai.response.id',
  'gen_ai.response.finish_reasons',
  'gen_ai.output.messages',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'github.copilot.time_to_first_chunk',
  'error.type',
] as const
export type Attribute = (typeof ATTRIBUTES)[number]
export const CONVERSATION: Attribute = 'gen_ai.conversation.id'
