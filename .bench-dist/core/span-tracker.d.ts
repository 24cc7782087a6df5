import { type Context, type Link, type Tracer } from '@opentelemetry/api';
import type { IncompleteReason } from '../contract/index.ts';
import type { AnyDefinition } from '../spans/index.ts';
import type { Draw, Fired, SpanAttributes } from '../spans/span-definition.ts';
import type { Guard } from './guard.ts';
import type { Instruments } from './instruments.ts';
import type { OpenSpan, Turn } from './turn.ts';
export interface TrackerOptions {
    readonly tracer: Tracer;
    readonly draw: Draw;
    readonly instruments: Instruments;
    readonly guard: Guard;
    /** Status OK on success; false leaves it unset, as the OpenTelemetry specification prefers. */
    readonly statusOk: boolean;
    /** Seeds the ids of the next span, for repeatable traces. */
    readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined;
}
export interface StartOptions {
    readonly key: string;
    readonly parent: Context;
    readonly startAt: number;
    readonly isExplicit: boolean;
    readonly attempt?: number | undefined;
    readonly links?: Link[] | undefined;
    readonly attributes?: SpanAttributes | undefined;
    /** The start was never seen: the record is the span's end. Computed from a duration, or without any. */
    readonly retroactive?: 'computed' | 'instant' | undefined;
}
export interface EndOptions {
    /** We end it, not the host. */
    readonly incomplete?: IncompleteReason;
    readonly status?: 'drawn' | 'unset';
}
type AnyFired = Fired<Readonly<Record<string, unknown>>>;
/** The name of a span among the open and the ended ones of its turn. */
export declare function slot(definition: AnyDefinition, key: string): string;
/** Starts and ends spans, each exactly once. It knows lifetimes, and nothing of what the rows write. */
export declare class SpanTracker {
    #private;
    constructor(options: TrackerOptions);
    get openCount(): number;
    start(turn: Turn, definition: AnyDefinition, fired: AnyFired, options: StartOptions): OpenSpan;
    /** Ends a span with what its row says, records its points and folds it into the turn's sums. */
    end(open: OpenSpan, fired: AnyFired, options?: EndOptions): void;
    /** Ends a span that the host did not end: marked, status unset, counted. */
    abandon(open: OpenSpan, reason: IncompleteReason, endAt: number): void;
    /** The open span under a key; of several that share it, the one that started first. */
    find(turn: Turn, definition: AnyDefinition, key: string): OpenSpan | undefined;
    setAttributes(open: OpenSpan, attributes: SpanAttributes): void;
    /** An end that has no span of its own: it counts, and it tells the turn (when there is one) what it knows. */
    countOnly(definition: AnyDefinition, fired: AnyFired, turn: Turn | undefined, startSeen: boolean): void;
}
/** Tools without an id may be open several times under one key; everything else only once. */
export declare function isQueued(key: string): boolean;
export {};
