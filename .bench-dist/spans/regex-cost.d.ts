import { type RegexNode } from './regex-tree.ts';
/** Whether a node can match without taking a character. */
export declare function isNullable(node: RegexNode): boolean;
/** Steps at one place of the worst text; infinite for patterns that backtrack exponentially. */
export declare function mostSteps(tree: RegexNode): number;
