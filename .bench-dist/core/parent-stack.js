/**
 * The open spans of one turn, outermost first. Ends come in any order (parallel tools), so removal is by identity, from
 * the middle if need be: a stray end never takes somebody else off.
 */
export class ParentStack {
    #spans = [];
    get size() {
        return this.#spans.length;
    }
    push(open) {
        this.#spans.push(open);
    }
    remove(open) {
        const at = this.#spans.lastIndexOf(open);
        if (at < 0)
            return false;
        this.#spans.splice(at, 1);
        return true;
    }
    top() {
        return this.#spans.at(-1);
    }
    bottom() {
        return this.#spans[0];
    }
    /** The innermost open span of a kind. */
    innermost(kind) {
        return this.#spans.findLast(open => open.kind === kind);
    }
    /** Those for which `matches` holds, innermost first; a copy, so that the caller may end them as it goes. */
    all(matches = () => true) {
        return this.#spans.filter(matches).reverse();
    }
}
