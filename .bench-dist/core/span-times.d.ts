import type { SpanKindName } from '../contract/index.ts';
import type { Fired } from '../spans/span-definition.ts';
export declare function plausibleAt(at: unknown): number | undefined;
type Payload = Readonly<Record<string, unknown>>;
/** The end: the payload's own where it has a believable one, else the record's time; never before the start. */
export declare function endTime(kind: SpanKindName, { at, payload }: Fired<Payload>, startAt: number): number;
/** How long the host says it took, in milliseconds. */
export declare function saidDuration(kind: SpanKindName, payload: Payload): number | undefined;
/**
 * What the metrics call the duration. The host's figure for a request covers its failed attempts and the back-off, so a
 * retry is measured by its own span.
 */
export declare function measuredDuration(kind: SpanKindName, payload: Payload, attempt: number, spanMillis: number | undefined): number | undefined;
export {};
