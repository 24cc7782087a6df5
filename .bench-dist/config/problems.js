const MAX_SHOWN = 40;
/** Collects what is to be said, in the one form that all of it has. */
export class Problems {
    #found = [];
    get found() {
        return this.#found;
    }
    /** `place`: file and line, or variable. `outcome`: what is done about it. */
    add(level, key, text, place, outcome) {
        const message = `config: ${key}: ${text}${place ? ` (${place})` : ''}${outcome ? `; ${outcome}` : ''}`;
        if (!this.#found.some(problem => problem.message === message))
            this.#found.push({ level, key, message });
    }
}
/** Somebody else's text inside a message: quoted, short, on one line. What holds an @ may hold credentials. */
export function quote(text) {
    if (text.includes('@'))
        return 'other text';
    return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text);
}
// Words of letters with separators; or too short for a secret.
const SHOWN_NAME = /^(?=.{1,40}$)[._-]*[A-Za-z]{1,14}(?:[._-]+[A-Za-z]{1,14})*[._-]*$|^[A-Za-z0-9_.-]{1,11}$/;
/**
 * A name out of somebody's configuration, as it may be shown. A missing space (`{api_key:sk-12}`) makes a secret part of
 * a name; secrets hold digits and other characters, or long runs of letters.
 */
export function showName(name) {
    return SHOWN_NAME.test(name) ? name : '(a name that is not shown)';
}
/** `a, b or c` */
export function alternatives(words) {
    return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
