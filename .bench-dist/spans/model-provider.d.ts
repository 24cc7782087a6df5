/** A host's name of a model provider → the well-known value where it is one, else what the host said. */
export declare function modelProvider(provider: unknown): string | undefined;
