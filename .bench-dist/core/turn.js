import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { emptyTotals } from '../spans/turn-totals.js';
import { BoundedMap } from './bounded-map.js';
import { ParentStack } from './parent-stack.js';
/** Remembered per turn; beyond this the oldest are forgotten, and a very late child goes under the root. */
const ENDED_MARKS_LIMIT = 4096;
export function contextOf(open) {
    open.context ??= trace.setSpan(ROOT_CONTEXT, open.span);
    return open.context;
}
export function contextOfSpan(context) {
    return trace.setSpanContext(ROOT_CONTEXT, context);
}
export function newSession(key, host, id) {
    return {
        key,
        forgotten: false,
        host,
        id,
        started: false,
        turns: new Set(),
        main: undefined,
        turnCount: 0,
        remembered: {},
        firstRoot: undefined,
        lastRoot: undefined,
        lastEndedKey: undefined,
        looseMemory: undefined,
        previous: undefined,
    };
}
export function newMemory(session, turnId, at) {
    return {
        ended: new BoundedMap(ENDED_MARKS_LIMIT),
        attempts: new Map(),
        seeds: new Map(),
        seed: `${session.host}\u0000${session.key}\u0000${turnId ?? ''}\u0000${at}`,
    };
}
const NOBODY = [];
export function newTurn(seed) {
    const memory = seed.memory ?? newMemory(seed.session, seed.turnId, seed.at);
    return {
        ended: memory.ended,
        attempts: memory.attempts,
        seeds: memory.seeds,
        seed: memory.seed,
        host: seed.session.host,
        session: seed.session,
        sharedWith: NOBODY,
        turnId: seed.turnId,
        taskId: undefined,
        number: seed.number,
        isSide: seed.isSide,
        root: undefined,
        anchor: seed.anchor ?? ROOT_CONTEXT,
        open: new Map(),
        stack: new ParentStack(),
        totals: emptyTotals(),
        identity: seed.identity,
        agentName: seed.agentName,
        delegation: seed.delegation,
        activityAt: seed.at,
        seenAt: seed.seenAt,
        over: false,
    };
}
