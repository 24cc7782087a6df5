/** Names of environment variables and their values. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Undefined where the variable is not set or blank: OpenTelemetry's rule, and ours. */
export declare function variable(env: Environment, name: string): string | undefined;
/** Trace log, debug log: `$XDG_STATE_HOME/hookspan`, else `~/.local/state/hookspan`. */
export declare function stateDirectory(env: Environment, home: string): string;
/** Where a configuration file is looked for, best first, when `HOOKSPAN_CONFIG` names none. */
export declare function configFiles(env: Environment, home: string): readonly string[];
/** `~/x` is in the home directory: unit files and `.env` files name paths like that, and no shell expands it there. */
export declare function expandHome(path: string, home: string): string;
