import { humanCount } from '../viewer/human-figures.js';
const EVERY_MILLIS = 200;
const EVERY_STEPS = 100;
const CLEAR_LINE = '\r\u001b[K';
/** How far a long command is, on one line of a terminal; silent where nobody watches. */
export class Progress {
    #io;
    #spans;
    #startedAt;
    #records = 0;
    #shownAt;
    #isShown = false;
    /** @param spans how many have come of the records so far */
    constructor(spans, io) {
        this.#spans = spans;
        this.#io = io;
        this.#startedAt = io.now();
        this.#shownAt = this.#startedAt;
    }
    /** One more record. */
    step() {
        this.#records += 1;
        if (!this.#io.stderr.isTTY || this.#records % EVERY_STEPS !== 0)
            return;
        const now = this.#io.now();
        if (now - this.#shownAt < EVERY_MILLIS)
            return;
        this.#shownAt = now;
        const rate = humanCount((this.#records * 1000) / (now - this.#startedAt));
        this.say(`${humanCount(this.#records)} records · ${humanCount(this.#spans())} spans · ${rate} records/s`);
    }
    /** What it is at, until the next step or the end. */
    say(text) {
        if (!this.#io.stderr.isTTY)
            return;
        this.#isShown = true;
        this.#io.stderr.write(`${CLEAR_LINE}${text}`);
    }
    /** Takes the line away, so that a message has it. */
    end() {
        if (this.#isShown)
            this.#io.stderr.write(CLEAR_LINE);
        this.#isShown = false;
    }
}
