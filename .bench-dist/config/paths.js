import { isAbsolute, join } from 'node:path';
/** Undefined where the variable is not set or blank: OpenTelemetry's rule, and ours. */
export function variable(env, name) {
    const value = env[name];
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
// Relative values are invalid by the XDG specification: they would depend on where the agent was started.
function baseDirectory(env, name, home, ...fallback) {
    const named = variable(env, name);
    return named !== undefined && isAbsolute(named) ? named : join(home, ...fallback);
}
/** Trace log, debug log: `$XDG_STATE_HOME/hookspan`, else `~/.local/state/hookspan`. */
export function stateDirectory(env, home) {
    return join(baseDirectory(env, 'XDG_STATE_HOME', home, '.local', 'state'), 'hookspan');
}
/** Where a configuration file is looked for, best first, when `HOOKSPAN_CONFIG` names none. */
export function configFiles(env, home) {
    const directory = join(baseDirectory(env, 'XDG_CONFIG_HOME', home, '.config'), 'hookspan');
    return ['config.yaml', 'config.yml', 'config.json'].map(name => join(directory, name));
}
/** `~/x` is in the home directory: unit files and `.env` files name paths like that, and no shell expands it there. */
export function expandHome(path, home) {
    return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path;
}
