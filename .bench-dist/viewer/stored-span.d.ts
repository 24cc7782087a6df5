import { type Attributes } from './attribute-value.ts';
import { type NumberedLine } from './line-reader.ts';
export type { Attributes, AttributeValue } from './attribute-value.ts';
export type StoredSpanKind = 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type StoredSpanStatus = 'unset' | 'ok' | 'error';
export interface StoredEvent {
    readonly name: string;
    /** Epoch milliseconds with fractions. */
    readonly at: number;
    readonly attributes: Attributes;
}
export interface StoredLink {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: Attributes;
}
/**
 * A span as it was read back from a file. The viewer's own type: it knows OTLP/JSON and nothing of what wrote it, so
 * it shows any OpenTelemetry trace. No text in it is to be trusted, ids included; `displayText` makes it printable.
 */
export interface StoredSpan {
    readonly traceId: string;
    readonly spanId: string;
    readonly parentSpanId?: string;
    readonly name: string;
    readonly kind: StoredSpanKind;
    /** Epoch milliseconds with fractions. */
    readonly startAt: number;
    readonly endAt: number;
    readonly status: StoredSpanStatus;
    readonly statusMessage?: string;
    readonly attributes: Attributes;
    readonly events: readonly StoredEvent[];
    readonly links: readonly StoredLink[];
    readonly resource: Attributes;
    readonly scope: {
        readonly name: string;
        readonly version?: string;
    };
}
/** What one line of a file was: spans, or a line that could not be read. */
export type TraceFileEntry = {
    readonly spans: readonly StoredSpan[];
} | {
    readonly line: number;
    readonly problem: string;
};
/** A line that is not OTLP/JSON. The message never quotes the line: it may hold anything. */
export declare class ExportLineError extends Error {
    readonly name = "ExportLineError";
}
/**
 * Reads one line of OTLP/JSON, an `ExportTraceServiceRequest` or `TracesData`. A line of another signal, or the note
 * of something that is no span, holds no spans.
 *
 * @throws {ExportLineError} when the line is no JSON object, or a span in it has no id or no start
 */
export declare function readExportLine(line: string): StoredSpan[];
/**
 * Reads a file of OTLP/JSON lines, a line at a time. Lines that cannot be read are reported and passed over; lines that
 * `mayMatter` (given their text) turns down are not even parsed.
 *
 * @throws the error of the file system when the file cannot be read
 */
export declare function readTraceFile(path: string, mayMatter?: (line: string) => boolean): AsyncGenerator<TraceFileEntry, void>;
/** One line of a file, never throwing. */
export declare function readEntry(line: NumberedLine): TraceFileEntry;
