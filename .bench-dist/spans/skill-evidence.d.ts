import type { ToolStart } from '../contract/index.ts';
/** That a tool call loaded a skill, and how we know. */
export interface SkillEvidence {
    readonly name: string;
    readonly source: 'skill_view' | 'path_match';
    /** The path that told, where one did. */
    readonly path: string | undefined;
}
/** Which skill a tool call loads, if any. */
export declare function skillOf(payload: ToolStart): SkillEvidence | undefined;
