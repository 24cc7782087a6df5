import type { CommandRow } from './command.ts'

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'demo',
    summary: 'see traces without an agent, a server or an account',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  {
    name: 'init',
    summary: 'make an agent load hookspan, or stop it from doing so',
    load: async () => (await import('./commands/init.ts')).init,
  },
  {
    name: 'replay',
    summary: 'turn files of hook records into traces',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'tree',
    summary: 'draw stored traces as trees',
    load: async () => (await import('./commands/tree.ts')).tree,
  },
  {
    name: 'config',
    summary: 'the configuration in force, and where it comes from',
    load: async () => (await import('./commands/config.ts')).config,
  },
  {
    name: 'doctor',
    summary: 'prove that traces arrive, and say what to do where they do not',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'send',
    summary: 'deliver what the trace log holds for a backend, or all of it',
    load: async () => (await import('./commands/send.ts')).send,
  },
  {
    name: 'completion',
    summary: 'let the shell complete commands, options, hosts and backends',
    load: async () => (await import('./commands/completion.ts')).completionOf(COMMANDS),
  },
]
