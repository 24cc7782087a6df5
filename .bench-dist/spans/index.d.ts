import type { HookName } from '../contract/index.ts';
import type { SpanDefinition } from './span-definition.ts';
/** A row whose payload types are known only to itself: the tracker hands it the records of its own hooks. */
export type AnyDefinition = SpanDefinition<any, any>;
/** What a hook does to its span. `event`: an event on a span that is open. `identity`: a session comes or goes. */
export type Phase = 'start' | 'end' | 'event' | 'identity';
export interface HookPlan {
    readonly definition: AnyDefinition;
    readonly phase: Phase;
}
/** The whole plugin on one screen: which hook draws which span, and which end of it. */
export declare const HOOK_PLAN: {
    readonly [Name in HookName]: HookPlan;
};
