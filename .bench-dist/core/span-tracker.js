import { SpanStatusCode } from '@opentelemetry/api';
import { DISCARDED, LABEL } from '../semconv/index.js';
import { literal } from '../spans/capture.js';
import { QUEUED_KEY_PREFIX } from '../spans/tool.js';
import { endTime, measuredDuration, saidDuration } from './span-times.js';
import { foldEnd } from './turn-summary.js';
const NO_POINTS = [];
/** The name of a span among the open and the ended ones of its turn. */
export function slot(definition, key) {
    return `${definition.kind} ${key}`;
}
/** Starts and ends spans, each exactly once. It knows lifetimes, and nothing of what the rows write. */
export class SpanTracker {
    #options;
    #openCount = 0;
    constructor(options) {
        this.#options = options;
    }
    get openCount() {
        return this.#openCount;
    }
    start(turn, definition, fired, options) {
        const { tracer, draw, guard } = this.#options;
        const name = guard.call(fired.hook, definition.name, literal(definition.kind), fired.payload, draw, undefined);
        this.#seed(turn, definition, options);
        const span = tracer.startSpan(name, { kind: definition.spanKind, startTime: options.startAt, ...(options.links && { links: options.links }) }, options.parent);
        const open = {
            kind: definition.kind,
            key: slot(definition, options.key),
            definition,
            span,
            turn,
            startAt: options.startAt,
            startIsExplicit: options.isExplicit,
            start: options.retroactive === undefined ? fired.payload : undefined,
            attempt: options.attempt ?? 0,
            next: undefined,
            context: undefined,
            ended: false,
            activityAt: options.startAt,
            seenAt: 0,
        };
        if (span.isRecording())
            this.#drawStart(open, fired, options);
        this.#attach(open);
        return open;
    }
    /** Ends a span with what its row says, records its points and folds it into the turn's sums. */
    end(open, fired, options = {}) {
        if (open.ended)
            return;
        const { draw, guard, instruments } = this.#options;
        const endAt = endTime(open.kind, fired, open.startAt);
        this.#detach(open, endAt, options.incomplete === undefined);
        if (open.span.isRecording())
            this.#drawEnd(open, fired, endAt, options);
        open.span.end(endAt);
        const isSeen = open.start !== undefined;
        const spanMillis = isSeen ? endAt - open.startAt : saidDuration(open.kind, fired.payload);
        const durationMillis = measuredDuration(open.kind, fired.payload, open.attempt, spanMillis);
        const ended = { startAt: open.startAt, start: open.start, durationMillis, startSeen: isSeen };
        instruments.record(guard.call(fired.hook, open.definition.measure, NO_POINTS, fired, draw, ended));
        guard.call(fired.hook, this.#fold, undefined, open.turn, fired, ended);
        if (options.incomplete !== undefined)
            this.#countIncomplete(options.incomplete);
    }
    /** Ends a span that the host did not end: marked, status unset, counted. */
    abandon(open, reason, endAt) {
        if (open.ended)
            return;
        const at = Math.max(open.startAt, endAt);
        this.#detach(open, at, false);
        const { own } = this.#options.draw.names;
        open.span.setAttributes(this.#clean({ [own.spanIncomplete]: literal(reason) }));
        open.span.end(at);
        this.#countIncomplete(reason);
    }
    /** The open span under a key; of several that share it, the one that started first. */
    find(turn, definition, key) {
        return turn.open.get(slot(definition, key));
    }
    setAttributes(open, attributes) {
        if (open.span.isRecording())
            open.span.setAttributes(this.#clean(attributes));
    }
    /** An end that has no span of its own: it counts, and it tells the turn (when there is one) what it knows. */
    countOnly(definition, fired, turn, startSeen) {
        const { draw, guard, instruments } = this.#options;
        const durationMillis = saidDuration(definition.kind, fired.payload);
        const ended = { startAt: fired.at, start: undefined, durationMillis, startSeen };
        instruments.record(guard.call(fired.hook, definition.measure, NO_POINTS, fired, draw, ended));
        if (turn !== undefined && !turn.over)
            guard.call(fired.hook, this.#fold, undefined, turn, fired, ended);
    }
    #drawStart(open, fired, options) {
        const { draw, guard } = this.#options;
        const attributes = guard.call(fired.hook, open.definition.start, {}, fired, draw, undefined);
        const { own } = draw.names;
        attributes[own.spanKind] = literal(open.kind);
        if (options.retroactive === 'computed')
            attributes[own.spanRetroactive] = true;
        if (fired.correlation === 'inferred' || fired.correlation === 'ambiguous') {
            attributes[own.correlation] = literal(fired.correlation);
        }
        open.span.setAttributes(this.#clean(open.turn.identity));
        open.span.setAttributes(this.#clean(attributes));
        if (options.attributes !== undefined)
            open.span.setAttributes(this.#clean(options.attributes));
    }
    #drawEnd(open, fired, endAt, options) {
        const { draw, guard, statusOk } = this.#options;
        const { general, own } = draw.names;
        const drawn = guard.call(fired.hook, open.definition.end, { attributes: {} }, fired, draw, open);
        const { attributes, error } = drawn;
        if (options.incomplete !== undefined)
            attributes[own.spanIncomplete] = literal(options.incomplete);
        if (error !== undefined && drawn.exception)
            attributes[general.errorType] = error.type;
        open.span.setAttributes(this.#clean(attributes));
        if (error !== undefined && drawn.exception) {
            open.span.addEvent('exception', {
                [general.exceptionType]: error.type,
                [general.exceptionMessage]: error.message,
                [general.exceptionEscaped]: true,
            }, endAt);
        }
        if (options.status === 'unset')
            return;
        if (error !== undefined) {
            const message = error.message === undefined ? {} : { message: error.message };
            open.span.setStatus({ code: SpanStatusCode.ERROR, ...message });
        }
        else if (statusOk)
            open.span.setStatus({ code: SpanStatusCode.OK });
    }
    #fold = (turn, fired, ended) => foldEnd(turn.totals, fired, this.#options.draw, ended);
    #countIncomplete(reason) {
        this.#options.instruments.add('spansIncomplete', 1, { [LABEL.reason]: reason });
    }
    /** Names of a convention that is switched off all map to one key, which goes out here. */
    #clean(attributes) {
        if (this.#options.draw.names.hasDiscarded && DISCARDED in attributes)
            delete attributes[DISCARDED];
        return attributes;
    }
    #seed(turn, definition, { key }) {
        const { seedIds } = this.#options;
        if (seedIds === undefined)
            return;
        const identity = `${turn.seed}\u0000${slot(definition, key)}`;
        const ordinal = turn.seeds.get(identity) ?? 0;
        turn.seeds.set(identity, ordinal + 1);
        seedIds(turn.seed, `${identity}\u0000${ordinal}`);
    }
    #attach(open) {
        const head = open.turn.open.get(open.key);
        if (head === undefined)
            open.turn.open.set(open.key, open);
        else {
            let last = head;
            while (last.next !== undefined)
                last = last.next;
            last.next = open;
        }
        open.turn.stack.push(open);
        this.#openCount += 1;
    }
    #detach(open, endAt, byHost) {
        open.ended = true;
        this.#openCount -= 1;
        open.turn.stack.remove(open);
        const head = open.turn.open.get(open.key);
        if (head === open) {
            if (open.next === undefined)
                open.turn.open.delete(open.key);
            else
                open.turn.open.set(open.key, open.next);
        }
        else {
            let before = head;
            while (before !== undefined && before.next !== open)
                before = before.next;
            if (before !== undefined)
                before.next = open.next;
        }
        const mark = {
            context: open.span.spanContext(),
            startAt: open.startAt,
            endAt,
            attempt: open.attempt,
            byHost,
        };
        open.turn.ended.set(open.key, mark);
    }
}
/** Tools without an id may be open several times under one key; everything else only once. */
export function isQueued(key) {
    return key.startsWith(QUEUED_KEY_PREFIX);
}
