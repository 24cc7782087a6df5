import type { Command, CommandRow } from './command.ts'

type Row = readonly [summary: string, load: () => Promise<object>]

/** Summaries are here, because the code of a command is loaded only if it runs. Its module exports the command by name. */
const ROWS: Readonly<Record<string, Row>> = {
  demo: ['show traces without an agent, a server or an account', () => import('./commands/demo.ts')],
  init: ['set up an agent to load hookspan, or undo it', () => import('./commands/init.ts')],
  run: ['run a program inside a span', () => import('./commands/run.ts')],
  hook: ['forward one agent hook to the receiver', () => import('./commands/hook.ts')],
  serve: ['run the receiver for the hooks of all agents', () => import('./commands/serve.ts')],
  replay: ['convert files of hook records to traces', () => import('./commands/replay.ts')],
  tree: ['print stored traces as trees', () => import('./commands/tree.ts')],
  view: ['open a live dashboard of every agent on this machine', () => import('./commands/view.ts')],
  usage: ['sum up cost, tokens and failures by day, agent or model', () => import('./commands/usage.ts')],
  top: ['show what every agent is doing right now', () => import('./commands/top.ts')],
  export: ['write traces to a file, for reading or for other programs', () => import('./commands/export.ts')],
  diff: ['compare two turns or sessions', () => import('./commands/diff.ts')],
  config: ['print the effective configuration and its sources', () => import('./commands/config.ts')],
  doctor: ['check that traces arrive, and how to fix it if not', () => import('./commands/doctor.ts')],
  hooks: ['list loaded guards, and try what they would decide', () => import('./commands/hooks.ts')],
  send: ['send pending or all traces of the trace log to backends', () => import('./commands/send.ts')],
  completion: ['print a completion script for your shell', loadCompletion],
}

export const COMMANDS: readonly CommandRow[] = Object.entries(ROWS).map(([name, [summary, load]]) => ({
  name,
  summary,
  load: async () => ((await load()) as Readonly<Record<string, Command>>)[name] as Command,
}))

async function loadCompletion(): Promise<object> {
  return { completion: (await import('./commands/completion.ts')).completionOf(COMMANDS) }
}
