import type { Command, CommandRow } from './command.ts'

/** Summaries are here, because the code of a command is loaded only if it runs. */
const SUMMARIES = {
  demo: 'see traces without an agent, a server or an account',
  init: 'make an agent load hookspan, or stop it from doing so',
  run: 'run any program inside a span of its own',
  hook: 'hand one hook of an agent to the receiver',
  serve: 'take what the hooks of agents tell, for all agents at once',
  replay: 'turn files of hook records into traces',
  tree: 'draw stored traces as trees',
  view: 'see every agent think, live, in a page of this machine',
  top: 'what every agent is at right now',
  export: 'write traces into a file, for people and for other programs',
  diff: 'put two turns or sessions side by side',
  config: 'the configuration in force, and where it comes from',
  doctor: 'prove that traces arrive, and say what to do where they do not',
  hooks: 'which hooks that act are loaded, and what they would decide',
  send: 'deliver what the trace log holds for a backend, or all of it',
  completion: 'let the shell complete commands, options, hosts and backends',
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
