/**
 * What Cursor sends to its hooks, as its documentation has it (cursor.com/docs/hooks, read in November 2026): it was not run.
 *
 * Raw events, as fixtures hold them (`HostEvent`): the event is the name of the hook, `data` what the hook is given.
 * `conversation_id` in it is the session and `generation_id` the turn.
 */

/**
 * Hooks of one kind of tool. Older versions have these alone; newer ones tell of each call by `preToolUse` and what follows
 * it, too, and then these say nothing more.
 */
export interface SpecificTool {
  /** As the hooks of all tools call it; `MCP`: each of its tools has a name of its own. */
  readonly name: string
  /** The fields that make its input. */
  readonly fields: readonly string[]
}

export const SPECIFIC_STARTS: ReadonlyMap<string, SpecificTool> = new Map([
  ['beforeShellExecution', { name: 'Shell', fields: ['command'] }],
  ['beforeMCPExecution', { name: 'MCP', fields: ['tool_name', 'tool_input'] }],
])

export const SPECIFIC_ENDS: ReadonlyMap<string, SpecificTool & { readonly result: string }> = new Map([
  ['afterShellExecution', { name: 'Shell', fields: ['command'], result: 'output' }],
  ['afterMCPExecution', { name: 'MCP', fields: ['tool_name', 'tool_input'], result: 'result_json' }],
  // Of which nothing tells the start.
  ['afterFileEdit', { name: 'Edit', fields: ['file_path', 'edits'], result: '' }],
])

/** Hooks that say nothing which is not known from others, or nothing of a turn: completions while somebody types, … */
export const QUIET_HOOKS: readonly string[] = [
  ...['beforeReadFile', 'beforeTabFileRead', 'afterTabFileEdit', 'afterAgentThought', 'preCompact'],
]
