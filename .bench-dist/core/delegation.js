import { idOf } from '../spans/foreign.js';
import { BoundedMap } from './bounded-map.js';
const DELEGATIONS_LIMIT = 10_000;
/** Stops that were seen, to know a repeated one. */
const STOPPED_LIMIT = 2000;
function sessionKey(host, id) {
    return `${host}\u0000session\u0000${id}`;
}
function subagentKey(host, id) {
    return `${host}\u0000subagent\u0000${id}`;
}
/** Which child belongs to which delegation: found by either of the child's ids, because a stop may carry only one. */
export class DelegationRegistry {
    #delegations;
    #stopped = new BoundedMap(STOPPED_LIMIT);
    #limitMillis;
    /**
     * @param limitMillis how long after its stop a delegation waits for a child that was not seen yet
     * @param onEvict ends the span of a delegation that is forgotten
     */
    constructor(limitMillis, onEvict) {
        this.#limitMillis = limitMillis;
        this.#delegations = new BoundedMap(DELEGATIONS_LIMIT, onEvict);
    }
    add(open, payload, parentSessionId) {
        const delegation = {
            host: open.turn.host,
            open,
            childSessionId: idOf(payload.child_session_id),
            childSubagentId: idOf(payload.child_subagent_id),
            role: payload.child_role,
            parentSessionId,
            stopped: false,
            stoppedAt: Number.POSITIVE_INFINITY,
            childTurns: new Set(),
            childSeen: false,
        };
        for (const key of this.#keys(delegation))
            this.#delegations.set(key, delegation);
        return delegation;
    }
    find(host, ids) {
        const session = idOf(ids.child_session_id);
        const subagent = idOf(ids.child_subagent_id);
        return ((session === undefined ? undefined : this.#delegations.get(sessionKey(host, session))) ??
            (subagent === undefined ? undefined : this.#delegations.get(subagentKey(host, subagent))));
    }
    /** The delegation that a new turn of this session is the work of. */
    forChild(host, sessionId, at) {
        if (sessionId === undefined)
            return undefined;
        const delegation = this.#delegations.get(sessionKey(host, sessionId));
        if (delegation === undefined || !(at - delegation.stoppedAt > this.#limitMillis))
            return delegation;
        this.forget(delegation);
        return undefined;
    }
    /** A stop that had no delegation: its repeat must not count again. */
    noteStopped(host, ids) {
        const session = idOf(ids.child_session_id);
        const subagent = idOf(ids.child_subagent_id);
        if (session !== undefined)
            this.#stopped.set(sessionKey(host, session), true);
        if (subagent !== undefined)
            this.#stopped.set(subagentKey(host, subagent), true);
    }
    wasStopped(host, ids) {
        const session = idOf(ids.child_session_id);
        const subagent = idOf(ids.child_subagent_id);
        return ((session !== undefined && this.#stopped.has(sessionKey(host, session))) ||
            (subagent !== undefined && this.#stopped.has(subagentKey(host, subagent))));
    }
    /** Of an open span, when it is a delegation's. */
    of(open) {
        const delegation = this.find(open.turn.host, open.start);
        return delegation?.open === open ? delegation : undefined;
    }
    stop(delegation, at) {
        delegation.stopped = true;
        delegation.stoppedAt = at;
        for (const key of this.#keys(delegation))
            this.#stopped.set(key, true);
        this.#forgetWhenOver(delegation);
    }
    childStarted(delegation, turn) {
        delegation.childSeen = true;
        delegation.childTurns.add(turn);
    }
    childEnded(delegation, turn) {
        delegation.childTurns.delete(turn);
        this.#forgetWhenOver(delegation);
    }
    /** Whether the span must stay open although its parent's turn is over: the child runs, or is still to start. */
    outlivesTurn(open) {
        const delegation = this.of(open);
        return delegation !== undefined && (!delegation.childSeen || delegation.childTurns.size > 0);
    }
    forget(delegation) {
        for (const key of this.#keys(delegation)) {
            if (this.#delegations.get(key) === delegation)
                this.#delegations.delete(key);
        }
    }
    /** The entry serves the child's own turn, also when the stop came first. */
    #forgetWhenOver(delegation) {
        if (delegation.stopped && delegation.childSeen && delegation.childTurns.size === 0)
            this.forget(delegation);
    }
    #keys({ host, childSessionId, childSubagentId }) {
        const keys = [];
        if (childSessionId !== undefined)
            keys.push(sessionKey(host, childSessionId));
        if (childSubagentId !== undefined)
            keys.push(subagentKey(host, childSubagentId));
        return keys;
    }
}
