import type { ToolEnd, ToolStart } from '../contract/index.ts';
import { type SafeText } from './capture.ts';
import type { Draw, Fired, SpanDefinition } from './span-definition.ts';
/** Tools without an id pair first in, first out, per name and task; the prefix tells the tracker so. */
export declare const QUEUED_KEY_PREFIX = "\0queued ";
/** What the tool works on: the span's and the turn summary's. */
export declare const toolTarget: (fired: Fired<ToolStart>, draw: Draw) => SafeText | undefined;
export declare const toolCommand: (fired: Fired<ToolStart>, draw: Draw) => SafeText | undefined;
export declare function toolName(payload: ToolStart, draw: Draw): SafeText;
/** One tool call. */
export declare const tool: SpanDefinition<ToolStart, ToolEnd>;
