/** Value that stands in for those beyond the limit. */
export declare const OTHER = "other";
/**
 * Keeps metrics low-cardinality whatever hosts send: each label keeps its first `limit` values, the rest become `other`.
 * A limit of 0 means none.
 */
export declare class LabelLimit {
    #private;
    constructor(limit: number);
    /** The labels themselves when every value is within the limit, so that the common case allocates nothing. */
    apply(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}
