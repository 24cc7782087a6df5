import type { Segment, Tone } from './segments.ts';
/** Colours of the picture. The card is dark on every page, so it needs to know nothing of the page's theme. */
export declare const PALETTE: {
    readonly [Each in Tone | 'card' | 'edge' | 'line' | 'track']: string;
};
export declare const FONT_SIZE = 13;
/** Advance of one cell: monospaced faces lie between 0.55 and 0.61 of the size. */
export declare const CELL: number;
/** For text that `displayText` has made printable: control characters are no XML, escaped or not. */
export declare function escapeXml(text: string): string;
/** Two decimals at most, so that the same trace always gives the same bytes. */
export declare function coordinate(value: number): string;
export declare function textAt(x: number, y: number, segments: readonly Segment[], anchor?: 'start' | 'end'): string;
export declare function rect(x: number, y: number, width: number, height: number, look: string): string;
