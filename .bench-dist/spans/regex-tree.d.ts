/**
 * A regular expression as a tree, as far as the question needs it whether it can backtrack badly: which characters
 * stand where, and what repeats. The source is one that `new RegExp` has accepted.
 */
/** One bit for each ASCII character and one for all the others. */
export type CharacterSet = bigint;
export type RegexNode = {
    readonly type: 'character';
    readonly set: CharacterSet;
}
/** Takes no characters and cannot change how many its neighbours take: a word boundary. */
 | {
    readonly type: 'empty';
}
/** Takes no characters and can refuse where its neighbours end: `$`, a look-around. */
 | {
    readonly type: 'assertion';
    readonly body: RegexNode | undefined;
} | {
    readonly type: 'reference';
} | {
    readonly type: 'sequence';
    readonly items: readonly RegexNode[];
} | {
    readonly type: 'choice';
    readonly options: readonly RegexNode[];
} | {
    readonly type: 'repeat';
    readonly body: RegexNode;
    readonly min: number;
    readonly max: number;
};
export declare const ANY: CharacterSet;
export declare function parseRegex(source: string): RegexNode;
