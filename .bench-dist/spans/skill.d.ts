import type { FinalStatus } from '../contract/index.ts';
import type { SkillEvidence } from './skill-evidence.ts';
import type { SpanDefinition } from './span-definition.ts';
/** No hook of its own: the tracker opens the window when a tool has loaded a skill and closes it with the turn. */
export interface SkillWindowEnd {
    readonly finalStatus: FinalStatus;
}
export declare const skill: SpanDefinition<SkillEvidence, SkillWindowEnd>;
