/**
 * What GitHub Copilot CLI sends to its hooks, and of itself, as its documentation has it (docs.github.com, "GitHub Copilot hooks
 * reference" and "OpenTelemetry monitoring", read in November 2026): it was not run.
 *
 * Raw events, as fixtures hold them (`HostEvent`): the event is the name of the hook, `data` what the hook is given. What a
 * hook is given depends on how its name is spelled in the configuration: `PreToolUse` has the name of the hook in it, and
 * fields such as `session_id`; `preToolUse` has neither, and is not read.
 */

/** Hooks that say nothing which is not known from others. A child agent is known from the tool that starts it. */
export const QUIET_HOOKS: readonly string[] = ['SubagentStop', 'PreCompact', 'Notification']

/** Hooks that end a turn: they wait until its spans have been read. */
export const WAITING_HOOKS: ReadonlySet<string> = new Set(['UserPromptSubmit', 'Stop', 'SessionEnd'])

/** A request to a model: `data` is its span (`TelemetrySpan`), with these attributes. */
export const SPAN_REQUEST = 'span:request'
/** What was to be known of the turn's spans is known; `data` names the session. */
export const SPAN_READ = 'span:read'

export const OPERATION = 'gen_ai.operation.name'
/** What is read of a request's span. Those of the cache were spelled otherwise at first. */
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
/** The session. */
export const CONVERSATION: Attribute = 'gen_ai.conversation.id'
