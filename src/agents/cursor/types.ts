/**
 * The hook payloads of Cursor, from its documentation (cursor.com/docs/hooks, read in November 2026); not verified by a run.
 *
 * Raw events in fixtures (`HostEvent`): the event is the name of the hook, `data` the hook's payload. `conversation_id` in it is
 * the session and `generation_id` the turn.
 */

/**
 * A hook for one kind of tool. Older versions fire only these. Newer versions also fire `preToolUse` and its counterparts for
 * each call; then these hooks are ignored.
 */
export interface SpecificTool {
  /** The tool's name in generic hooks. For `MCP`, each tool has its own name. */
  readonly name: string
  readonly fields: readonly string[]
  /** The field with the result, for a hook that fires at the end of a tool. */
  readonly result?: string
}

export const SPECIFIC_TOOLS: ReadonlyMap<string, SpecificTool> = new Map<string, SpecificTool>([
  ['beforeShellExecution', { name: 'Shell', fields: ['command'] }],
  ['beforeMCPExecution', { name: 'MCP', fields: ['tool_name', 'tool_input'] }],
  ['afterShellExecution', { name: 'Shell', fields: ['command'], result: 'output' }],
  ['afterMCPExecution', { name: 'MCP', fields: ['tool_name', 'tool_input'], result: 'result_json' }],
  // The start of an edit is not reported.
  ['afterFileEdit', { name: 'Edit', fields: ['file_path', 'edits'], result: '' }],
])

/** Hooks that add nothing to others, or are not about a turn, such as completions while the user types. */
export const QUIET_HOOKS: readonly string[] = [
  ...['beforeReadFile', 'beforeTabFileRead', 'afterTabFileEdit', 'afterAgentThought', 'preCompact'],
]
