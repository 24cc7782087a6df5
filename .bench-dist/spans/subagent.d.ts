import { type SubagentStart, type SubagentStop } from '../contract/index.ts';
import type { SpanDefinition } from './span-definition.ts';
/** A delegation as the parent sees it; the child's own turn nests below. It may outlive the parent's turn. */
export declare const subagent: SpanDefinition<SubagentStart, SubagentStop>;
