/** Why the file system refused, in words for a person. */
export declare function whyNot(error: unknown): string;
