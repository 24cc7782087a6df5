import type { TurnAnswer, TurnStart } from '../contract/index.ts';
import type { SpanDefinition } from './span-definition.ts';
/** The turn's loop: from the user's message to the final answer. It is neither a request nor a second agent. */
export declare const llm: SpanDefinition<TurnStart, TurnAnswer>;
