export type Signal = 'traces' | 'metrics';
/**
 * The URL that takes a signal. The endpoint may be a base URL or the full URL of any signal, with or without a slash
 * at its end: `/v1/traces` is appended exactly when it is missing. Undefined when it is no http or https URL.
 */
export declare function signalUrl(endpoint: string, signal: Signal): string | undefined;
/** The URL exactly as it is given; without a path its root. Undefined when it is no http or https URL. */
export declare function exactUrl(endpoint: string): string | undefined;
/** The same endpoint without a signal's path, query and credentials; no slash at its end. */
export declare function baseUrl(endpoint: string): string | undefined;
/** The URL as it may be shown: credentials and query, where keys are sometimes put, are left out. */
export declare function shownUrl(href: string): string;
