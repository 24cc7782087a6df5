import { describeFailure, failureClass } from './failure-message.js';
/** A backend that fails and recovers all the time is said to at most this often, per cause. */
const REPEAT_AFTER_MILLIS = 60_000;
/** What the person is told about one backend: each cause once at its onset, and once how much it cost when it is over. */
export class DeliveryReport {
    #facts;
    #report;
    /** Signals that are failing now. */
    #streaks = new Map();
    /** Causes that are said already, until everything is delivered again. */
    #said = new Set();
    #saidAt = new Map();
    #overflowed = 0;
    lastError;
    constructor(facts, report) {
        this.#facts = facts;
        this.#report = report;
    }
    /** `lost`: how many spans did not arrive, where that can be said. */
    failed(signal, failure, lost) {
        const line = describeFailure(this.#facts, signal, failure);
        const streak = this.#streaks.get(signal) ?? { lost: 0, isSaid: false };
        this.#streaks.set(signal, streak);
        streak.lost += lost;
        this.lastError = line;
        this.#report.debug(`${line} [${lost} lost]`);
        if (this.#sayOnce(failureClass(failure), line))
            streak.isSaid = true;
    }
    delivered(signal) {
        const streak = this.#streaks.get(signal);
        if (!streak)
            return;
        this.#streaks.delete(signal);
        if (this.#streaks.size === 0)
            this.#said.clear();
        if (!streak.isSaid)
            return;
        const cost = signal === 'traces' ? `; ${count(streak.lost, 'span was', 'spans were')} lost` : '';
        this.#report.warn(`backend ${this.#facts.name}: ${signal} arrive again${cost}`);
    }
    overflowed(maxQueueSize) {
        this.#overflowed++;
        if (this.#overflowed > 1)
            return;
        this.#sayOnce('overflow', `backend ${this.#facts.name}: ${maxQueueSize} spans are waiting for it, and further ones are dropped until it has caught up; raise span_batch_max_queue_size if that happens often`);
    }
    /** The queue is empty again. */
    drained() {
        if (this.#overflowed === 0)
            return;
        const dropped = count(this.#overflowed, 'span was', 'spans were');
        this.#overflowed = 0;
        if (this.#said.delete('overflow')) {
            this.#report.warn(`backend ${this.#facts.name}: has caught up; ${dropped} dropped in the meantime`);
        }
    }
    #sayOnce(cause, line) {
        if (this.#said.has(cause))
            return false;
        if (Date.now() - (this.#saidAt.get(cause) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MILLIS)
            return false;
        this.#said.add(cause);
        this.#saidAt.set(cause, Date.now());
        this.#report.warn(line);
        return true;
    }
}
function count(number, one, many) {
    return `${number} ${number === 1 ? one : many}`;
}
