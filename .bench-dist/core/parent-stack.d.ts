import type { SpanKindName } from '../contract/index.ts';
import type { OpenSpan } from './turn.ts';
/**
 * The open spans of one turn, outermost first. Ends come in any order (parallel tools), so removal is by identity, from
 * the middle if need be: a stray end never takes somebody else off.
 */
export declare class ParentStack {
    #private;
    get size(): number;
    push(open: OpenSpan): void;
    remove(open: OpenSpan): boolean;
    top(): OpenSpan | undefined;
    bottom(): OpenSpan | undefined;
    /** The innermost open span of a kind. */
    innermost(kind: SpanKindName): OpenSpan | undefined;
    /** Those for which `matches` holds, innermost first; a copy, so that the caller may end them as it goes. */
    all(matches?: (open: OpenSpan) => boolean): OpenSpan[];
}
