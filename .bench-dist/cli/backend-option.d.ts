/** What a value of `--backend` may be: the short form of a backend in the configuration. */
export declare const BACKEND_OPTION: {
    readonly type: 'string';
    readonly multiple: true;
    readonly default: string[];
};
/**
 * Values of `--backend`, each `TYPE`, `TYPE=URL`, `file=PATH` or a URL alone. The configuration leaves out a backend that
 * it cannot read and goes on; who names one on the command line wants to know before anything is sent.
 *
 * @throws WrongUse when there is no such type, or the URL is none
 */
export declare function checkBackends(values: readonly string[]): readonly string[];
