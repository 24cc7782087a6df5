import { sessionStartAttributes } from '../spans/session.js';
import { nextAttempt } from './api-attempts.js';
import { parentOf } from './parents.js';
import { isQueued, slot } from './span-tracker.js';
import { rememberedAttributes, rotatedIdentity } from './turn-identity.js';
import { foldStart } from './turn-summary.js';
/** Beyond this the turn's oldest open span is ended, marked and counted. */
const OPEN_SPANS_LIMIT = 10_000;
/** What a record that starts something does: which turn it belongs to, and which span it opens there. */
export class HookStarts {
    #parts;
    constructor(parts) {
        this.#parts = parts;
    }
    /** `on_session_start`: opens the turn's root, or adds to the one that is open. */
    session(incoming) {
        const { registry, lifecycle } = this.#parts;
        const { fired, ids, host } = incoming;
        const session = registry.session(host, ids);
        const wasStarted = session.started;
        session.started = true;
        const open = this.#rooted(incoming);
        if (open !== undefined)
            return this.#supply(open, incoming);
        // Its turn has come and gone before it arrived, or it arrives again.
        const isLate = incoming.isExplicit && registry.findEnded(host, ids, fired.at, true) !== undefined;
        if (isLate)
            return wasStarted ? 'duplicate' : 'ok';
        if (ids.turnId !== undefined)
            this.#interrupt(session.main, fired.at);
        lifecycle.open(session, ids, ambiguousWithoutId(incoming), { isSide: false });
        return 'ok';
    }
    /** `pre_llm_call`: begins a turn, so another one of its session that is still open was interrupted. */
    turn(definition, incoming) {
        const { registry } = this.#parts;
        const { fired, ids, host } = incoming;
        const session = registry.session(host, ids);
        const known = this.#rooted(incoming);
        if (known === undefined) {
            const late = incoming.isExplicit ? this.#late(incoming, true) : undefined;
            if (late !== undefined)
                return this.#open(late, definition, incoming);
        }
        if (session.main !== known)
            this.#interrupt(session.main, fired.at);
        const turn = known ?? this.#parts.lifecycle.open(session, ids, ambiguousWithoutId(incoming), { isSide: false });
        if (turn.root !== undefined && turn.session === session)
            session.main = turn;
        this.#learn(turn, incoming);
        return this.#open(turn, definition, incoming);
    }
    /** Every other start. */
    span(definition, incoming) {
        return this.#open(this.turnFor(definition, incoming), definition, incoming);
    }
    /** The turn that a record belongs to, opened where there is none. */
    turnFor(definition, incoming, startAt) {
        const { registry, lifecycle } = this.#parts;
        const { fired, ids, host } = incoming;
        const turn = registry.find(host, ids, false) ?? this.#late(incoming, false);
        if (turn !== undefined)
            return turn;
        const session = registry.session(host, ids);
        // A side call that names no turn, between the turns, is nobody's work: it must not look like a turn of its own.
        if (definition.kind === 'auxiliary' && ids.turnId === undefined)
            return lifecycle.openRootless(session, ids, fired, undefined);
        const how = { isSide: session.main !== undefined, ...(startAt === undefined ? {} : { startAt }) };
        return lifecycle.open(session, ids, ambiguousWithoutId(incoming), how);
    }
    #open(turn, definition, incoming) {
        const { tracker, lifecycle, options, guard } = this.#parts;
        const { fired, ids } = incoming;
        const key = guard.call(fired.hook, definition.key, undefined, fired.payload, undefined, undefined);
        if (key === undefined)
            return 'ignored';
        const predecessor = isQueued(key) ? undefined : tracker.find(turn, definition, key);
        if (this.#isRepeat(turn, slot(definition, key), predecessor, incoming))
            return 'duplicate';
        lifecycle.touch(turn, fired.at);
        turn.taskId ??= ids.taskId;
        if (predecessor !== undefined)
            this.#parts.abandon(predecessor, 'superseded', fired.at);
        if (turn.stack.size >= OPEN_SPANS_LIMIT)
            this.#evictOldest(turn, fired.at);
        const attempt = definition.kind === 'api' ? nextAttempt(turn, key, fired.payload) : undefined;
        const open = tracker.start(turn, definition, fired, {
            key,
            parent: parentOf(turn, definition, fired.payload, options.delegatingTools),
            startAt: fired.at,
            isExplicit: incoming.isExplicit,
            attempt,
            attributes: this.#extra(turn, incoming, attempt),
        });
        guard.call(fired.hook, this.#fold, undefined, turn, fired, undefined);
        this.#watch(open, incoming);
        return 'ok';
    }
    #fold = (turn, fired) => foldStart(turn.totals, fired, this.#parts.options.draw, isDrawn(turn));
    #extra(turn, { ids }, attempt) {
        const { draw } = this.#parts.options;
        const rotated = rotatedIdentity(draw, turn, ids.sessionId);
        if (rotated === undefined && attempt === undefined)
            return undefined;
        return {
            ...rotated,
            ...(attempt === undefined ? {} : { [draw.names.own.apiAttempt]: attempt }),
        };
    }
    /** The same start once more: redelivered, or late although its span has come and gone. */
    #isRepeat(turn, slot, open, { fired, isExplicit }) {
        if (!isExplicit)
            return false;
        const ended = open === undefined ? turn.ended.get(slot) : undefined;
        if (open === undefined && ended === undefined)
            return false;
        const retry = Number(fired.payload['retry_count']);
        if (open !== undefined) {
            // One that began before what is open now comes late, and must not put an end to it.
            return open.startIsExplicit && fired.at <= open.startAt && !(retry > open.attempt);
        }
        if (ended === undefined || retry > ended.attempt)
            return false;
        return fired.at === ended.startAt || fired.at < ended.endAt;
    }
    /** Delegations and approvals have a limit of their own; a child may have started before its delegation was told. */
    #watch(open, { fired, ids, host }) {
        const { spanSweep, delegations, options, registry } = this.#parts;
        if (open.kind !== 'subagent' && open.kind !== 'approval')
            return;
        spanSweep.touch(open, fired.at, options.now());
        if (open.kind === 'approval')
            return;
        const payload = fired.payload;
        const delegation = delegations.add(open, payload, ids.sessionId);
        if (delegation.childSessionId === undefined)
            return;
        const child = registry.knownSession(host, { ...ids, sessionId: delegation.childSessionId })?.main;
        if (child?.root === undefined || child === open.turn)
            return;
        delegation.childSeen = true;
        const { link } = options.draw.names.own;
        child.root.span.addLink?.({
            context: open.span.spanContext(),
            attributes: link === '' ? {} : { [link]: 'delegation' },
        });
    }
    #late(incoming, begins) {
        const { registry, lifecycle } = this.#parts;
        const { fired, ids, host } = incoming;
        const ended = registry.findEnded(host, ids, fired.at, begins);
        if (ended === undefined)
            return undefined;
        const open = registry.find(host, ids, begins);
        return open?.root === undefined && open !== undefined
            ? open
            : lifecycle.openRootless(ended.session, ids, fired, ended);
    }
    /** The open turn that a record which begins a turn belongs to; late and loose spans are none. */
    #rooted({ host, ids }) {
        const turn = this.#parts.registry.find(host, ids, true);
        return turn?.root === undefined ? undefined : turn;
    }
    /** A repeated start of a session supplies what was missing, and is otherwise without effect. */
    #supply(turn, { fired }) {
        const { options, tracker, lifecycle } = this.#parts;
        lifecycle.touch(turn, fired.at);
        if (turn.root === undefined)
            return 'ignored';
        const payload = fired.payload;
        const { own } = options.draw.names;
        const supplied = sessionStartAttributes(payload, options.draw);
        const before = sessionStartAttributes((turn.root.start ?? {}), options.draw);
        for (const name of Object.keys(supplied)) {
            const isDefaultKind = name === own.sessionKind && supplied[name] === 'session';
            if ((before[name] !== undefined && name !== own.sessionKind) || isDefaultKind)
                delete supplied[name];
        }
        tracker.setAttributes(turn.root, supplied);
        this.#learn(turn, { fired });
        return 'ok';
    }
    #learn(turn, { fired }) {
        const remembered = rememberedAttributes(fired.payload, this.#parts.options.draw);
        if (Object.keys(remembered).length === 0)
            return;
        Object.assign(turn.identity, remembered);
        Object.assign(turn.session.remembered, remembered);
        if (turn.root !== undefined)
            this.#parts.tracker.setAttributes(turn.root, remembered);
    }
    #interrupt(turn, at) {
        if (turn === undefined)
            return;
        this.#parts.lifecycle.finish(turn, { at, finalStatus: 'interrupted', descendants: 'turn_ended' });
        this.#parts.onTurnEnd();
    }
    #evictOldest(turn, at) {
        const oldest = turn.stack.bottom() === turn.root ? turn.stack.all().at(-2) : turn.stack.bottom();
        if (oldest !== undefined)
            this.#parts.abandon(oldest, 'orphaned', at);
    }
}
function isDrawn(turn) {
    return turn.root?.span.isRecording() ?? false;
}
/** A root that no id names is marked, so that nobody takes the tree for certain. */
function ambiguousWithoutId({ fired, ids }) {
    const isNamed = ids.sessionId !== undefined || ids.turnId !== undefined || ids.taskId !== undefined;
    return isNamed || fired.correlation !== undefined ? fired : { ...fired, correlation: 'ambiguous' };
}
