/** Beyond this many distinct causes only the count goes on: a host that fails in ever new words must not flood stderr. */
const CAUSES_LIMIT = 100;
/**
 * The fail-open boundary, and the only place of the hot path that catches. What throws inside becomes one line per
 * distinct cause and a count; the host sees nothing.
 */
export class Guard {
    #report;
    /** Makes an error's text fit to be written: an error can carry what an agent said. */
    #clean;
    #causes = new Set();
    #count = 0;
    constructor(report, clean) {
        this.#report = report;
        this.#clean = clean;
    }
    /** How often something was caught. */
    get count() {
        return this.#count;
    }
    run(site, body, fallback) {
        try {
            return body();
        }
        catch (error) {
            this.note(site, error);
            return fallback;
        }
    }
    /** The same for a function with arguments: on the hot path it saves a closure a call. */
    call(site, body, fallback, one, two, three) {
        try {
            return body(one, two, three);
        }
        catch (error) {
            this.note(site, error);
            return fallback;
        }
    }
    note(site, error) {
        this.#count += 1;
        const cause = `${site}: ${this.#describe(error)}`;
        if (this.#causes.has(cause) || this.#causes.size >= CAUSES_LIMIT)
            return;
        this.#causes.add(cause);
        this.#report.warn(`${cause}; the hook is counted as an error, the agent is not affected`);
    }
    /** Even an error's name and message can be getters that throw. */
    #describe(error) {
        try {
            return this.#clean(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
        }
        catch {
            return 'an error that cannot be read';
        }
    }
}
