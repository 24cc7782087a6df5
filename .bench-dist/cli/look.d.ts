import type { CommandIo } from './command.ts';
/** How to draw on this output: colours only where somebody sees them, or asks for them. */
export declare function lookOf({ stdout, env }: Pick<CommandIo, 'stdout' | 'env'>): {
    width: number;
    color: boolean;
};
