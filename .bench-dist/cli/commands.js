export const COMMANDS = [
    {
        name: 'demo',
        summary: 'see traces without an agent, a server or an account',
        load: async () => (await import('./commands/demo.js')).demo,
    },
    {
        name: 'replay',
        summary: 'turn files of hook records into traces',
        load: async () => (await import('./commands/replay.js')).replay,
    },
    {
        name: 'tree',
        summary: 'draw stored traces as trees',
        load: async () => (await import('./commands/tree.js')).tree,
    },
    {
        name: 'config',
        summary: 'the configuration in force, and where it comes from',
        load: async () => (await import('./commands/config.js')).config,
    },
];
