import { type DrawnKind, type Segment } from './segments.ts';
import type { SpanAttributes } from './span-attributes.ts';
/** How a span went, in the word that its kind has for it; undefined where there is nothing to say. */
export declare function outcomeOf(kind: DrawnKind, attributes: SpanAttributes): Segment | undefined;
