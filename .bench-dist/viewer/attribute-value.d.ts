/** The value of an attribute. Bytes are kept as their base64 text, whole numbers beyond 2^53 as their decimal text. */
export type AttributeValue = string | number | boolean | null | readonly AttributeValue[] | {
    readonly [key: string]: AttributeValue;
};
export type Attributes = Readonly<Record<string, AttributeValue>>;
export declare function isRecord(value: unknown): value is Record<string, unknown>;
/** Reads a list of OTLP `{key, value}`; what is no such pair is left out. */
export declare function readAttributes(pairs: unknown, depth?: number): Attributes;
