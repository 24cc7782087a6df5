/** Hooks of the SDK (0.3.330). */
export const HOOKS: readonly string[] = [
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Notification', 'UserPromptSubmit'],
  ...['UserPromptExpansion', 'SessionStart', 'SessionEnd', 'Stop', 'StopFailure', 'SubagentStart'],
  ...['SubagentStop', 'PreCompact', 'PostCompact', 'PreModelSwitch', 'PostModelSwitch', 'PermissionRequest'],
  ...['PermissionDenied', 'Setup', 'TeammateIdle', 'TaskCreated', 'TaskCompleted', 'Elicitation'],
  ...['ElicitationResult', 'ConfigChange', 'WorktreeCreate', 'WorktreeRemove', 'InstructionsLoaded'],
  ...['CwdChanged', 'FileChanged', 'DirectoryAdded', 'MessageDisplay'],
]

/** Messages of the SDK: `type` or `type.subtype`. For `result`, any subtype is accepted. */
export const MESSAGES: readonly string[] = [
  ...['assistant', 'user', 'stream_event', 'active_goal', 'conversation_reset', 'tool_progress'],
  ...['tool_use_summary', 'auth_status', 'rate_limit_event', 'prompt_suggestion', 'system.api_retry'],
  ...['system.background_tasks_changed', 'system.commands_changed', 'system.compact_boundary'],
  ...['system.control_request_progress', 'system.elicitation_complete', 'system.files_persisted'],
  ...['system.hook_progress', 'system.hook_response', 'system.hook_started', 'system.informational'],
  ...['system.init', 'system.local_command_output', 'system.memory_recall', 'system.mirror_error'],
  ...['system.model_refusal_fallback', 'system.model_refusal_no_fallback', 'system.notification'],
  ...['system.permission_denied', 'system.plugin_install', 'system.session_state_changed'],
  ...['system.session_writes_lost', 'system.status', 'system.task_notification', 'system.task_progress'],
  ...['system.task_started', 'system.task_updated', 'system.thinking_tokens', 'system.worker_shutting_down'],
]
