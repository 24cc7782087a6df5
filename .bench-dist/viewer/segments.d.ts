export type DrawnKind = 'session' | 'llm' | 'api' | 'tool' | 'subagent' | 'approval' | 'skill' | 'auxiliary' | 'other';
/** What a piece of text means. The terminal and the picture each have a colour for it. */
export type Tone = DrawnKind | 'ok' | 'warn' | 'error' | 'dim' | 'plain' | 'strong';
/** Printable text (see `displayText`) of one colour. */
export interface Segment {
    readonly text: string;
    readonly tone: Tone;
}
export declare function segment(tone: Tone, text: string): Segment;
export declare function segmentsWidth(segments: readonly Segment[]): number;
/** Puts a gap between segments and leaves out the empty ones. */
export declare function spaced(segments: readonly Segment[], gap?: string): Segment[];
/** The first `width` cells, the last of them an ellipsis when something was cut. */
export declare function clipSegments(segments: readonly Segment[], width: number): readonly Segment[];
