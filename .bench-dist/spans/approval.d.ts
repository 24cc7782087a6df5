import { type ApprovalRequest, type ApprovalResponse } from '../contract/index.ts';
import type { SpanDefinition } from './span-definition.ts';
/** A person (or a guardian model) is asked: the span is the waiting. A denial is a decision, never an error. */
export declare const approval: SpanDefinition<ApprovalRequest, ApprovalResponse>;
