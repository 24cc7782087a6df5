import type { Command, CommandRow } from './command.ts'

/** Summaries are here, because the code of a command is loaded only if it runs. */
const SUMMARIES = {
  demo: 'show traces without an agent, a server or an account',
  init: 'set up an agent to load hookspan, or undo it',
  run: 'run a program inside a span',
  hook: 'forward one agent hook to the receiver',
  serve: 'run the receiver for the hooks of all agents',
  replay: 'convert files of hook records to traces',
  tree: 'print stored traces as trees',
  view: 'open a live dashboard of every agent on this machine',
  usage: 'sum up cost, tokens and failures by day, agent or model',
  top: 'show what every agent is doing right now',
  export: 'write traces to a file, for reading or for other programs',
  diff: 'compare two turns or sessions',
  config: 'print the effective configuration and its sources',
  doctor: 'check that traces arrive, and how to fix it if not',
  hooks: 'list loaded guards, and try what they would decide',
  send: 'send pending or all traces of the trace log to backends',
  completion: 'print a completion script for your shell',
} as const

type Name = keyof typeof SUMMARIES

const LOADERS: Readonly<Record<Name, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.ts')).demo,
  init: async () => (await import('./commands/init.ts')).init,
  run: async () => (await import('./commands/run.ts')).run,
  hook: async () => (await import('./commands/hook.ts')).hook,
  serve: async () => (await import('./commands/serve.ts')).serve,
  replay: async () => (await import('./commands/replay.ts')).replay,
  tree: async () => (await import('./commands/tree.ts')).tree,
  view: async () => (await import('./commands/view.ts')).view,
  usage: async () => (await import('./commands/usage.ts')).usage,
  top: async () => (await import('./commands/top.ts')).top,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  diff: async () => (await import('./commands/diff.ts')).diff,
  config: async () => (await import('./commands/config.ts')).config,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  hooks: async () => (await import('./commands/hooks.ts')).hooks,
  send: async () => (await import('./commands/send.ts')).send,
  completion: async () => (await import('./commands/completion.ts')).completionOf(COMMANDS),
}

export const COMMANDS: readonly CommandRow[] = (Object.keys(SUMMARIES) as Name[]).map(name => ({
  name,
  summary: SUMMARIES[name],
  load: LOADERS[name],
}))
