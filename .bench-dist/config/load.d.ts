import { type Environment } from './paths.ts';
import { type PlainMap } from './plain.ts';
import { type Problems } from './problems.ts';
/** A configuration file that was read. */
export interface ConfigFile {
    readonly path: string;
    readonly values: PlainMap;
    /** `config.yaml line 7`; a part without a line of its own stands where what holds it stands. */
    place(path: string): string;
}
/**
 * `HOOKSPAN_CONFIG`, else the first of `configFiles`. Never one of the working directory: an agent is often started in a
 * repository that somebody else wrote. A file that cannot be read is reported and counts as none.
 */
export declare function loadConfigFile(env: Environment, home: string, problems: Problems): ConfigFile | undefined;
