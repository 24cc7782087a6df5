/** Bus events that say nothing of what a turn does, or say again what others say. */
const QUIET: ReadonlySet<string> = new Set([
  'catalog.updated',
  'command.executed',
  'file.edited',
  'file.watcher.updated',
  'global.disposed',
  'installation.update-available',
  'installation.updated',
  'integration.connection.updated',
  'integration.updated',
  'lsp.client.diagnostics',
  'lsp.updated',
  'mcp.browser.open.failed',
  'mcp.tools.changed',
  'message.part.removed',
  'message.removed',
  'models-dev.refreshed',
  'permission.v2.asked',
  'permission.v2.replied',
  'plugin.added',
  'project.directories.updated',
  'project.updated',
  'pty.created',
  'pty.deleted',
  'pty.exited',
  'pty.updated',
  'question.replied',
  'question.v2.asked',
  'question.v2.rejected',
  'question.v2.replied',
  'reference.updated',
  'server.connected',
  'server.instance.disposed',
  'session.compacted',
  'session.diff',
  'todo.updated',
  'tui.command.execute',
  'tui.prompt.append',
  'tui.session.select',
  'tui.toast.show',
  'vcs.branch.updated',
  'workspace.failed',
  'workspace.ready',
  'workspace.status',
  'worktree.failed',
  'worktree.ready',
])

/** Named hooks: their observing counterparts on the bus are read instead. */
const QUIET_HOOKS: ReadonlySet<string> = new Set([
  'PLUGIN_INIT',
  'chat.headers',
  'command.execute.before',
  'config',
  'experimental.chat.messages.transform',
  'experimental.chat.system.transform',
  'experimental.compaction.autocontinue',
  'experimental.provider.small_model',
  'experimental.session.compacting',
  'experimental.text.complete',
  'permission.ask',
  'shell.env',
  'tool.definition',
  'tool.execute.after',
  'tool.execute.before',
])

const BUS = 'event.'
/** By their whole names: most events are of these, and a name that is cut anew for each would have to be hashed anew. */
const QUIET_ON_BUS: ReadonlySet<string> = new Set(Array.from(QUIET, type => `${BUS}${type}`))
/** A second way of telling the same, typed in the SDK and not sent yet. */
const NEXT = 'event.session.next.'

/** Whether an event is known to need no reading. Bus events are `event.<type>`, named hooks go by their names. */
export function isQuiet(event: string): boolean {
  if (!event.startsWith(BUS)) return QUIET_HOOKS.has(event)
  return QUIET_ON_BUS.has(event) || event.startsWith(NEXT)
}
