import type { Segment } from './segments.ts';
/** One line of the terminal, without blanks at its end. */
export declare function paintLine(segments: readonly Segment[], color: boolean): string;
